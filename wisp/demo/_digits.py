"""The digits, the network that reads them, and its training."""

import wisp
from wisp import nn
from wisp.utils.data import DataLoader, TensorDataset, random_split


def load(seed, test=360):
    """(training digits, test digits): images [1, 8, 8] from 0 to 1, and what they show."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise SystemExit("The digits come with scikit-learn: pip install scikit-learn") from error
    digits = load_digits()
    images = wisp.tensor(digits.images, dtype=wisp.float32).unsqueeze(1) / 16
    everything = TensorDataset(images, wisp.tensor(digits.target))
    parts = random_split(everything, [len(everything) - test, test], wisp.Generator().manual_seed(seed))
    return tuple(TensorDataset(*(values[list(part.indices)] for values in everything.tensors)) for part in parts)


def network():
    """A small convolutional network; 65 thousand weights."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(256, 10),
    )  # fmt: skip


@wisp.no_grad()
def accuracy(net, test):
    """The share of digits that a network reads right."""
    images, truth = test.tensors
    return (net(images).argmax(1) == truth).float().mean().item()


def train(train, test, epochs, batch, progress):
    """(network, history): the history has the training loss and the test accuracy of every epoch."""
    net = network()
    loader = DataLoader(train, batch_size=batch, shuffle=True)
    optimizer = wisp.optim.AdamW(net.parameters(), weight_decay=0.01)
    schedule = wisp.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=epochs * len(loader))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    history = {"loss": [], "accuracy": []}
    for epoch in range(epochs):
        total = 0.0
        net.train()
        for images, truth in loader:
            optimizer.zero_grad()
            scores = net(images)
            loss = criterion(scores, truth)
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(images)
            right = (scores.argmax(1) == truth).float().mean().item()
            progress.advance(len(images), f"epoch {epoch + 1}/{epochs}", loss=f"{loss:.3f}", accuracy=f"{right:.1%}")
        net.eval()
        history["loss"].append(total / len(train))
        history["accuracy"].append(accuracy(net, test))
    return net, history
