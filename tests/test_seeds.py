"""The PyTorch listings of the talks wisp is built after, as far as the core carries them, run as they stand."""

import warnings

import pytest

import wisp as torch
from wisp.autograd import Variable

N, D_in, H, D_out = 64, 1000, 100, 10


def data():
    return torch.randn(N, D_in), torch.randn(N, D_out)


def weights(requires_grad):
    return torch.randn(D_in, H, requires_grad=requires_grad), torch.randn(H, D_out, requires_grad=requires_grad)


def fit(predict, parameters, steps=60, learning_rate=1e-6):
    """The training loop of the autograd listings; returns the losses."""
    x, y = data()
    losses = []
    for _ in range(steps):
        y_pred = predict(x)
        loss = (y_pred - y).pow(2).sum()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for w in parameters:
                w -= learning_rate * w.grad
                w.grad.zero_()
    return losses


def test_scalar_regression_one_example_at_a_time():
    trX = torch.linspace(-1, 1, 101)
    trY = 2 * trX + torch.randn(*trX.size()) * 0.33
    w = Variable(trX.new([0.0]), requires_grad=True)
    for _ in range(5):
        for x, y in zip(trX, trY):
            X = Variable(x)
            Y = Variable(y)
            y_model = X * w.expand_as(X)
            cost = (Y - y_model) ** 2
            cost.backward(torch.ones(*cost.size()))
            w.data = w.data - 0.01 * w.grad.data
            w.grad.data.zero_()
    assert w.shape == (1,)
    assert w.item() == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize("legacy", [True, False])
def test_recurrent_cell(legacy):
    make = (lambda *size, **kw: Variable(torch.randn(*size), **kw)) if legacy else torch.randn
    W_h, W_x = make(20, 20, requires_grad=True), make(20, 10, requires_grad=True)
    x, prev_h = make(1, 10), make(1, 20)
    i2h = torch.mm(W_x, x.t())
    h2h = torch.mm(W_h, prev_h.t())
    next_h = i2h + h2h
    next_h = next_h.tanh()
    with pytest.warns(UserWarning, match="reshaped"):
        next_h.backward(torch.ones(1, 20))  # the result is (20, 1)
    inner = 1 - next_h.detach() ** 2
    assert torch.allclose(W_x.grad, inner.mm(x), atol=1e-6)
    assert torch.allclose(W_h.grad, inner.mm(prev_h), atol=1e-6)


def test_gradient_of_another_size_is_an_error():
    y = torch.randn(20, 1, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="shape"):
        y.backward(torch.ones(1, 19))


def test_computation_graph_of_three_operations():
    x = torch.randn(3, 4, requires_grad=True, device=torch.device("cpu"))
    y, z = torch.randn(3, 4), torch.randn(3, 4)
    a = x * y
    b = a + z
    c = torch.sum(b)
    c.backward()
    assert torch.equal(x.grad, y)


def test_two_layers_with_gradients_by_hand():
    device = torch.device("cpu")
    x, y = torch.randn(N, D_in, device=device), torch.randn(N, D_out, device=device)
    w1, w2 = weights(False)
    learning_rate, losses = 1e-6, []
    for _ in range(60):
        h = x.mm(w1)
        h_relu = h.clamp(min=0)
        y_pred = h_relu.mm(w2)
        losses.append((y_pred - y).pow(2).sum().item())
        grad_y_pred = 2.0 * (y_pred - y)
        grad_w2 = h_relu.t().mm(grad_y_pred)
        grad_h_relu = grad_y_pred.mm(w2.t())
        grad_h = grad_h_relu.clone()
        grad_h[h < 0] = 0
        grad_w1 = x.t().mm(grad_h)
        w1 -= learning_rate * grad_w1
        w2 -= learning_rate * grad_w2
    assert losses[-1] < losses[0] / 20


def test_two_layers_with_autograd():
    w1, w2 = weights(True)
    losses = fit(lambda x: x.mm(w1).clamp(min=0).mm(w2), (w1, w2))
    assert losses[-1] < losses[0] / 20


class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_y):
        (x,) = ctx.saved_tensors
        grad_input = grad_y.clone()
        grad_input[x < 0] = 0
        return grad_input


def test_own_function_gives_the_same_losses():
    losses = []
    for relu in (MyReLU.apply, lambda x: x.clamp(min=0)):
        torch.manual_seed(1)
        w1, w2 = weights(True)
        losses.append(fit(lambda x: relu(x.mm(w1)).mm(w2), (w1, w2)))
    assert losses[0] == losses[1]


def sequential():
    return torch.nn.Sequential(torch.nn.Linear(D_in, H), torch.nn.ReLU(), torch.nn.Linear(H, D_out))


def test_nn_with_manual_steps():
    x, y = data()
    model, losses = sequential(), []
    for _ in range(100):
        loss = torch.nn.functional.mse_loss(model(x), y)
        losses.append(loss.item())
        loss.backward()
        with torch.no_grad():
            for param in model.parameters():
                param -= 1e-2 * param.grad
        model.zero_grad()
    assert losses[-1] < losses[0] * 0.9


class TwoLayerNet(torch.nn.Module):
    def __init__(self, D_in, H, D_out):
        super().__init__()
        self.linear1 = torch.nn.Linear(D_in, H)
        self.linear2 = torch.nn.Linear(H, D_out)

    def forward(self, x):
        return self.linear2(self.linear1(x).clamp(min=0))


class ParallelBlock(torch.nn.Module):
    def __init__(self, D_in, D_out):
        super().__init__()
        self.linear1 = torch.nn.Linear(D_in, D_out)
        self.linear2 = torch.nn.Linear(D_in, D_out)

    def forward(self, x):
        return (self.linear1(x) * self.linear2(x)).clamp(min=0)


def blocks():
    return torch.nn.Sequential(ParallelBlock(D_in, H), ParallelBlock(H, H), torch.nn.Linear(H, D_out))


@pytest.mark.parametrize(
    "make, optimizer, lr",
    [(sequential, "Adam", 1e-4), (lambda: TwoLayerNet(D_in, H, D_out), "SGD", 1e-2), (blocks, "Adam", 1e-4)],
)
def test_optimisers(make, optimizer, lr):
    x, y = data()
    model = make()
    optimizer, losses = getattr(torch.optim, optimizer)(model.parameters(), lr=lr), []
    for _ in range(60):
        loss = torch.nn.functional.mse_loss(model(x), y)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert losses[-1] < losses[0] * 0.95


def test_the_graph_is_dynamic():
    """The model of the talks picks its weights by the previous loss, in plain Python."""
    x, y = data()
    w1, w2a = weights(True)
    w2b = torch.randn(H, D_out, requires_grad=True)
    used, prev_loss = set(), 5.0
    for _ in range(10):
        w2 = w2a if prev_loss < 5.0 else w2b
        used.add(id(w2))
        loss = (x.mm(w1).clamp(min=0).mm(w2) - y).pow(2).sum()
        loss.backward()
        prev_loss = loss.item() if len(used) > 1 else 4.0
    assert w2a.grad is not None and w2b.grad is not None


def test_nothing_here_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        test_computation_graph_of_three_operations()
