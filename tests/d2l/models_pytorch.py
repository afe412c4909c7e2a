"""Models for PyTorch, written as for d2l 1.0: they have to train here unchanged."""

# save_hyperparameters makes attributes; models choose their own arguments.
# mypy: disable-error-code="attr-defined,override"

import torch
from frameworks import Case
from torch import nn
from torch.nn import functional as F

from d2l import torch as d2l


class Counting(d2l.DataModule):
    """Sequences that count modulo 10 from a random start, with a step given."""

    def __init__(self, batch_size=32, num_steps=5, n=640):
        super().__init__()
        self.save_hyperparameters()
        start = torch.randint(0, 10, (n, 1))
        self.step = torch.randint(1, 3, (n, 1))
        whole = (start + self.step * d2l.arange(num_steps + 1)) % 10
        self.X, self.Y = whole[:, :-1], whole[:, 1:]

    def get_dataloader(self, train):
        i = slice(0, 512) if train else slice(512, None)
        return self.get_tensorloader((self.X, self.step, self.Y), train, i)


class Shuffled(d2l.DataModule):
    """The digits as images, from loaders made by hand, without validation data."""

    def __init__(self, batch_size=64):
        super().__init__()
        self.save_hyperparameters()
        digits = d2l.Digits()
        self.images = d2l.reshape(digits.X, (-1, 1, 8, 8))
        self.labels = digits.y

    def train_dataloader(self):
        data = torch.utils.data.TensorDataset(self.images, self.labels)
        return torch.utils.data.DataLoader(
            data, self.batch_size, shuffle=True, drop_last=True
        )

    def val_dataloader(self):
        return None


class Layers(d2l.Classifier):
    """A classifier of layers that `Framework.model` describes."""

    def __init__(self, layers, optimizer, lr):
        super().__init__()
        self.save_hyperparameters(ignore=["layers"])
        images = any(isinstance(x, tuple) and x[0] == "conv" for x in layers)
        norm = nn.LazyBatchNorm2d if images else nn.LazyBatchNorm1d
        pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.names = {"relu": nn.ReLU, "norm": norm, "pool": lambda: pool}
        self.net = nn.Sequential(*map(self.make, layers))

    def make(self, layer):
        match layer:
            case int():
                return nn.LazyLinear(layer)
            case float():
                return nn.Dropout(layer)
            case "conv", channels:
                return nn.LazyConv2d(channels, 3, padding=1)
            case "embed", number, width:
                self.embedding = nn.Embedding(number, width)
                return self.embedding
            case "tied":
                number, width = self.embedding.weight.shape
                layer = nn.Linear(width, number, bias=False)
                layer.weight = self.embedding.weight
                return layer
            case "transformer", width, heads:
                return d2l.TransformerLayer(width, heads)
        return self.names[layer]()

    def configure_optimizers(self):
        if self.optimizer == "adam":
            return torch.optim.Adam(self.parameters(), self.lr)
        return torch.optim.SGD(self.parameters(), self.lr, momentum=0.9)


class SoftmaxScratch(d2l.Classifier):
    def __init__(self, num_inputs, num_outputs, lr, sigma=0.01):
        super().__init__()
        self.save_hyperparameters()
        size = (num_inputs, num_outputs)
        self.W = d2l.normal(0, sigma, size=size, requires_grad=True)
        self.b = d2l.zeros(num_outputs, requires_grad=True)

    def parameters(self):
        return [self.W, self.b]

    def forward(self, X):
        X = d2l.reshape(X, (-1, self.W.shape[0]))
        exps = d2l.exp(d2l.matmul(X, self.W) + self.b)
        return exps / d2l.reduce_sum(exps, 1, keepdims=True)

    def loss(self, y_hat, y):
        return -d2l.reduce_mean(d2l.log(y_hat[range(len(y_hat)), y]))


class MLPScratch(d2l.Classifier):
    def __init__(self, num_inputs, num_outputs, num_hiddens, lr, sigma=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.W1 = nn.Parameter(d2l.randn(num_inputs, num_hiddens) * sigma)
        self.b1 = nn.Parameter(d2l.zeros(num_hiddens))
        self.W2 = nn.Parameter(d2l.randn(num_hiddens, num_outputs) * sigma)
        self.b2 = nn.Parameter(d2l.zeros(num_outputs))

    def forward(self, X):
        H = d2l.matmul(X, self.W1) + self.b1
        H = torch.max(H, d2l.zeros_like(H))
        return d2l.matmul(H, self.W2) + self.b2


class ListedTensors(d2l.Classifier):
    """Its parameters are in a list, and nowhere else."""

    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        sizes = [(64, 16), (16,), (16, 10), (10,)]
        self.tensors = [d2l.randn(*size) * 0.1 for size in sizes]
        for tensor in self.tensors:
            tensor.requires_grad_()

    def forward(self, X):
        W1, b1, W2, b2 = self.tensors
        return d2l.matmul(d2l.tanh(d2l.matmul(X, W1) + b1), W2) + b2

    def configure_optimizers(self):
        return d2l.SGD(self.tensors, self.lr)


class ListedParameters(SoftmaxScratch):
    """Its parameters are attributes, and in a list for the optimizer."""

    def __init__(self, lr):
        super().__init__(64, 10, lr)
        self.W, self.b = nn.Parameter(self.W.detach()), nn.Parameter(self.b.detach())
        self.both = [self.W, self.b]

    def configure_optimizers(self):
        return d2l.SGD(self.both, self.lr)


class DropoutMLP(d2l.Classifier):
    def __init__(self, num_outputs, num_hiddens, dropout, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Flatten(),
            nn.LazyLinear(num_hiddens),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.LazyLinear(num_outputs),
        )


class DropoutScratch(d2l.Classifier):
    def __init__(self, dropout, lr):
        super().__init__()
        self.save_hyperparameters()
        self.first, self.last = nn.LazyLinear(64), nn.LazyLinear(10)

    def forward(self, X):
        H = F.relu(self.first(X))
        if self.training:
            keep = d2l.rand(H.shape) > self.dropout
            H = keep.float() * H / (1 - self.dropout)
        return self.last(H)


class BatchNormNet(d2l.Classifier):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.LazyConv2d(8, kernel_size=3, padding=1),
            nn.LazyBatchNorm2d(),
            nn.Sigmoid(),
            nn.Flatten(),
            nn.LazyLinear(10),
        )


def xavier(module):
    if type(module) in (nn.Linear, nn.Conv2d):
        nn.init.xavier_uniform_(module.weight)


def initialized():
    model = BatchNormNet(lr=0.2)
    X = next(iter(Shuffled().train_dataloader()))[0]
    model.apply_init([X], xavier)
    return model


class RNNScratch(d2l.Module):
    def __init__(self, num_inputs, num_hiddens, sigma=0.3):
        super().__init__()
        self.save_hyperparameters()
        self.W_xh = nn.Parameter(d2l.randn(num_inputs, num_hiddens) * sigma)
        self.W_hh = nn.Parameter(d2l.randn(num_hiddens, num_hiddens) * sigma)
        self.b_h = nn.Parameter(d2l.zeros(num_hiddens))

    def forward(self, inputs, state=None):
        if state is None:
            shape = (inputs.shape[1], self.num_hiddens)
            state = d2l.zeros(shape, device=inputs.device)
        outputs = []
        for X in inputs:
            state = d2l.tanh(
                d2l.matmul(X, self.W_xh) + d2l.matmul(state, self.W_hh) + self.b_h
            )
            outputs.append(state)
        return outputs, state


class LanguageModel(d2l.Classifier):
    def __init__(self, rnn, vocab_size, lr):
        super().__init__()
        self.save_hyperparameters()
        self.init_params()

    def init_params(self):
        self.W_hq = nn.Parameter(d2l.randn(self.rnn.num_hiddens, self.vocab_size) * 0.3)
        self.b_q = nn.Parameter(d2l.zeros(self.vocab_size))

    def training_step(self, batch):
        loss = self.loss(self(*batch[:-1]), batch[-1])
        self.plot("ppl", d2l.exp(loss), train=True)
        return loss

    def validation_step(self, batch):
        loss = self.loss(self(*batch[:-1]), batch[-1])
        self.plot("ppl", d2l.exp(loss), train=False)

    def forward(self, X, step, state=None):
        inputs = F.one_hot(d2l.transpose(X), self.vocab_size)
        steps = d2l.expand_dims(d2l.concat([step] * X.shape[1], 1).T, 2)
        inputs = d2l.concat((inputs, steps), 2).type(torch.float32)
        outputs, _ = self.rnn(inputs, state)
        return d2l.stack([d2l.matmul(H, self.W_hq) + self.b_q for H in outputs], 1)


class GRULanguageModel(LanguageModel):
    def __init__(self, lr):
        super().__init__(nn.GRU(11, 32), 10, lr)

    def init_params(self):
        self.linear = nn.LazyLinear(self.vocab_size)

    def forward(self, X, step):
        inputs = F.one_hot(X.T, 10).to(torch.float32)
        steps = step.T.unsqueeze(2).repeat(X.shape[1], 1, 1)
        outputs, _ = self.rnn(d2l.concat((inputs, steps), 2))
        return d2l.swapaxes(self.linear(outputs), 0, 1)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


class WeightDecayScratch(d2l.LinearRegressionScratch):
    def __init__(self, num_inputs, lambd, lr):
        super().__init__(num_inputs, lr)
        self.save_hyperparameters()

    def loss(self, y_hat, y):
        penalty = d2l.reduce_sum(self.w**2) / 2
        return super().loss(y_hat, y) + self.lambd * penalty


class WeightDecay(d2l.LinearRegression):
    def __init__(self, wd, lr):
        super().__init__(lr)
        self.save_hyperparameters()

    def configure_optimizers(self):
        groups = [
            {"params": self.net.weight, "weight_decay": self.wd},
            {"params": self.net.bias},
        ]
        return torch.optim.SGD(groups, lr=self.lr, momentum=0.5)


class Residual(d2l.nn_Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.LazyLinear(width)

    def forward(self, X):
        return X + d2l.sigmoid(self.linear(X))


class Blocks(d2l.Classifier):
    """Blocks inside blocks, and a loss and an accuracy of its own."""

    def __init__(self, lr=0.02):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Sequential(Residual(64), Residual(64)), nn.LazyLinear(10)
        )

    def loss(self, Y_hat, Y, averaged=True):
        return super().loss(Y_hat, Y, averaged) * 2

    def validation_step(self, batch):
        Y_hat = self(*batch[:-1])
        right = d2l.astype(d2l.argmax(Y_hat, 1), batch[-1].dtype) == batch[-1]
        self.plot("acc", d2l.reduce_mean(d2l.astype(right, d2l.float32)), train=False)


class ConvBlock(d2l.nn_Module):
    """Two convolutions beside a shortcut, all of them lazy."""

    def __init__(self, channels):
        super().__init__()
        self.first = nn.LazyConv2d(channels, kernel_size=3, padding=1)
        self.second = nn.LazyConv2d(channels, kernel_size=3, padding=1)
        self.shortcut = nn.LazyConv2d(channels, kernel_size=1)
        self.norm = nn.LazyBatchNorm2d()

    def forward(self, X):
        Y = self.second(F.relu(self.norm(self.first(X))))
        return F.relu(Y + self.shortcut(X))


class ConvNet(d2l.Classifier):
    """Its methods make its parts, and its constructor calls `init_cnn` too early."""

    def stem(self):
        return nn.Sequential(nn.LazyConv2d(8, kernel_size=3), nn.ReLU())

    def __init__(self, arch, lr=0.1, num_classes=10):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(self.stem())
        for i, channels in enumerate(arch):
            self.net.add_module(f"block{i}", ConvBlock(channels))
        head = (nn.AdaptiveAvgPool2d((2, 2)), nn.Flatten(), nn.LazyLinear(num_classes))
        self.net.add_module("head", nn.Sequential(*head))
        self.net.apply(d2l.init_cnn)


def conv_net():
    model = ConvNet((8, 8), lr=0.2)
    X = next(iter(Shuffled().train_dataloader()))[0]
    model.apply_init([X], d2l.init_cnn)
    return model


class ClippedSGD(d2l.HyperParameters):
    """An optimizer with the two methods that the trainer needs."""

    def __init__(self, params, rate):
        self.save_hyperparameters()

    def step(self):
        for tensor in self.params:
            tensor.sub_(self.rate * tensor.grad.clamp(-1, 1))

    def zero_grad(self):
        for tensor in self.params:
            tensor.grad = None


class OwnOptimizer(d2l.LinearRegressionScratch):
    def configure_optimizers(self):
        return ClippedSGD([self.b, self.w], self.lr)


class Momentum:
    """An optimizer whose state has the parameters as keys."""

    def __init__(self, params):
        self.params, self.velocity, self.steps = list(params), {}, 0

    def zero_grad(self):
        for param in self.params:
            param.grad = None

    def step(self):
        self.steps += 1
        for param in self.params:
            velocity = self.velocity.get(param, torch.zeros_like(param))
            self.velocity[param] = 0.9 * velocity + param.grad
            param -= 0.1 * self.velocity[param]

    def state_dict(self):
        velocity = [self.velocity.get(param) for param in self.params]
        return {"velocity": velocity, "steps": self.steps}

    def load_state_dict(self, state):
        self.velocity = dict(zip(self.params, state["velocity"], strict=True))
        self.steps = state["steps"]


class ScratchMomentum(SoftmaxScratch):
    """Plain tensors, which a method of the model lists."""

    def configure_optimizers(self):
        return Momentum(self.parameters())


class OwnLoop(d2l.Trainer):
    """A trainer whose loop over the minibatches is written by hand."""

    def fit_epoch(self):
        self.model.train()
        for batch in map(self.prepare_batch, self.train_dataloader):
            self.model.training_step(batch).backward()
            if self.gradient_clip_val:
                self.clip_gradients(self.gradient_clip_val, self.model)
            with torch.no_grad():
                self.optim.step()
            self.optim.zero_grad()
            self.train_batch_idx += 1
        self.validate()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        for batch in map(self.prepare_batch, self.val_dataloader):
            self.model.validation_step(batch)
            self.val_batch_idx += 1


class Reverse(torch.autograd.Function):
    """Return the input; its gradient changes the sign."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -grad


class Gan(d2l.Module):
    """Two networks: between them, the gradient changes its sign."""

    def __init__(self):
        super().__init__()
        self.generator, self.critic = nn.Linear(4, 8), nn.Linear(8, 1)
        self.board.display = False

    def training_step(self, batch):
        real, noise, ones = batch
        fake = self.critic(Reverse.apply(self.generator(noise)))
        bce = F.binary_cross_entropy_with_logits
        loss = bce(self.critic(real), ones) + bce(fake, torch.zeros_like(ones))
        self.plot("loss", loss, train=True)
        return loss

    def validation_step(self, batch):
        self.plot("fake", self.critic(self.generator(batch[1])).mean(), train=False)

    def configure_optimizers(self):
        return [
            torch.optim.Adam(self.generator.parameters(), 0.01),
            torch.optim.SGD(self.critic.parameters(), 0.1, momentum=0.9),
        ]


def regression():
    return d2l.SyntheticRegressionData(d2l.tensor([2, -3.4]), b=4.2)


def softmax():
    return SoftmaxScratch(64, 10, lr=0.5)


def mlp():
    return MLPScratch(64, 10, 32, lr=0.3)


def rnn():
    return LanguageModel(RNNScratch(11, 32), 10, lr=2)


# Several devices train these as one device does.
ON_DEVICES = "decay", "blocks"
OWN_OPTIMIZERS = [lambda: ScratchMomentum(64, 10, 0.5)]
CASES = [
    Case("softmax", softmax, d2l.Digits, "val_acc", 0.8),
    Case("mlp", mlp, d2l.Digits, "val_acc", 0.8),
    Case("list", lambda: ListedTensors(0.5), d2l.Digits, "val_acc", 0.8),
    Case("parameters", lambda: ListedParameters(0.5), d2l.Digits, "val_acc", 0.8),
    Case("dropout", lambda: DropoutMLP(10, 64, 0.3, 0.5), d2l.Digits, "val_acc", 0.8),
    Case("mask", lambda: DropoutScratch(0.3, 0.5), d2l.Digits, "val_acc", 0.8),
    Case("batch norm", lambda: BatchNormNet(0.2), Shuffled, "train_loss", 1),
    Case("apply_init", initialized, Shuffled, "train_loss", 1),
    Case("conv net", conv_net, Shuffled, "train_loss", 1),
    Case("own optimizer", lambda: OwnOptimizer(2, 0.1), regression, "val_loss", 0.1),
    Case("rnn", rnn, Counting, "val_ppl", 2, 6),
    Case("gru", lambda: GRULanguageModel(0.02), Counting, "val_ppl", 1.5, 6),
    Case("decay", lambda: WeightDecay(3, 0.01), regression, "val_loss", 15),
    Case("penalty", lambda: WeightDecayScratch(2, 3, 0.1), regression, "val_loss", 12),
    Case("blocks", Blocks, d2l.Digits, "val_acc", 0.6, 5),
]
