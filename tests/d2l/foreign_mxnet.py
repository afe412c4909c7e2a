"""Models of Gluon, written without this library."""

from mxnet import gluon, npx, optimizer
from mxnet.gluon import nn, rnn

npx.set_np()


def mlp():
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu"), nn.Dense(10))
    return net


instance = mlp()
instance.initialize()


def linear():
    return nn.Dense(10)


def dropping():
    net = nn.HybridSequential()
    net.add(nn.Dropout(0.5), nn.Dense(10))
    return net


def given(net, lr):
    """Return a loss and an optimizer of MXNet."""
    return gluon.loss.SoftmaxCrossEntropyLoss(), optimizer.SGD(learning_rate=lr)


def images():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 3), nn.BatchNorm(), nn.Activation("relu"))
    net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dropout(0.1), nn.Dense(10))
    return net


class Words(nn.Block):
    """A recurrent network."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(500, 64)
        self.recurrent = rnn.GRU(64, layout="NTC")
        self.output = nn.Dense(500, flatten=False)

    def forward(self, X):
        return self.output(self.recurrent(self.embedding(X)))


class Pair(nn.Block):
    """Two inputs, and a tuple as the output."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Dense(64), nn.Dense(64)
        self.output = nn.Dense(1)

    def forward(self, X, Z):
        H = npx.relu(self.first(X) + self.second(Z))
        return self.output(H), H


class Own(nn.Block):
    """A model that computes its loss itself."""

    def __init__(self):
        super().__init__()
        self.output, self.loss = nn.Dense(64), gluon.loss.L2Loss()

    def forward(self, X, targets):
        Y = self.output(X)
        return Y, self.loss(Y, targets).mean()


class Raising(nn.Block):
    def __init__(self):
        super().__init__()
        self.output = nn.Dense(64)

    def forward(self, X):
        raise RuntimeError("my own problem")
