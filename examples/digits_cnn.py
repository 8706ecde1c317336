"""A convolutional network that reads handwritten digits (those of scikit-learn, 8 by 8 points each)."""

import argparse

from sklearn.datasets import load_digits

import wisp
from wisp import nn
from wisp.nn import functional as F
from wisp.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32 * 4 * 4, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.dropout(x.flatten(1))
        return self.fc2(F.relu(self.fc1(x)))


def train(model, loader, optimizer):
    model.train()
    for images, truth in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), truth)
        loss.backward()
        optimizer.step()
    return loss.item()


@wisp.no_grad()
def test(model, loader):
    model.eval()
    right = sum((model(images).argmax(1) == truth).sum().item() for images, truth in loader)
    return right / len(loader.dataset)


def main(args=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", help="a file for the trained weights")
    options = parser.parse_args(args)

    wisp.manual_seed(options.seed)
    digits = load_digits()
    images = wisp.tensor(digits.images, dtype=wisp.float32).unsqueeze(1) / 16
    data = TensorDataset(images, wisp.tensor(digits.target))
    train_data, test_data = random_split(data, [0.8, 0.2])
    train_loader = DataLoader(train_data, batch_size=options.batch, shuffle=True)
    test_loader = DataLoader(test_data, batch_size=256)

    model = Net()
    optimizer = wisp.optim.Adam(model.parameters(), lr=options.lr)
    schedule = wisp.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.85)
    for epoch in range(1, options.epochs + 1):
        loss = train(model, train_loader, optimizer)
        accuracy = test(model, test_loader)
        schedule.step()
        print(f"epoch {epoch:2d}   loss {loss:.4f}   test accuracy {accuracy:.1%}")
    if options.save:
        wisp.save(model.state_dict(), options.save)
    return accuracy


if __name__ == "__main__":
    main()
