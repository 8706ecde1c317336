"""The parts of the DataLoader."""
