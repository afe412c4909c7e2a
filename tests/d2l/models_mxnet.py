"""Models for MXNet, written as for d2l 1.0: they have to train here unchanged."""

# save_hyperparameters makes attributes; models choose their own arguments.
# mypy: disable-error-code="attr-defined,override"

from frameworks import Case
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn
from mxnet.gluon import rnn as layers

from d2l import mxnet as d2l

npx.set_np()


class Counting(d2l.DataModule):
    """Sequences that count modulo 10 from a random start, with a step given."""

    def __init__(self, batch_size=32, num_steps=5, n=640):
        super().__init__()
        self.save_hyperparameters()
        start = np.random.randint(0, 10, (n, 1))
        self.step = np.random.randint(1, 3, (n, 1))
        whole = (start + self.step * np.arange(num_steps + 1)) % 10
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
        data = gluon.data.ArrayDataset(self.images, self.labels)
        return gluon.data.DataLoader(
            data, self.batch_size, shuffle=True, last_batch="discard"
        )

    def val_dataloader(self):
        return None


class Layers(d2l.Classifier):
    """A classifier of layers that `Framework.model` describes."""

    def __init__(self, layers, optimizer, lr):
        super().__init__()
        self.save_hyperparameters(ignore=["layers"])
        names = [layer[0] for layer in layers if isinstance(layer, tuple)]
        whole = "transformer" not in names  # which cannot be compiled
        self.net = nn.HybridSequential() if whole else nn.Sequential()
        self.net.add(*map(self.make, layers))
        self.net.initialize(init.Xavier())

    def make(self, layer):
        match layer:
            case int():
                return nn.Dense(layer, flatten=False)
            case float():
                return nn.Dropout(layer)
            case "conv", channels:
                return nn.Conv2D(channels, 3, padding=1)
            case "embed", number, width:
                self.embedding = nn.Embedding(number, width)
                return self.embedding
            case "tied":
                params = self.embedding.params
                number, width = self.embedding.weight.shape
                options = {"flatten": False, "use_bias": False, "in_units": width}
                return nn.Dense(number, params=params, **options)
            case "transformer", width, heads:
                return d2l.TransformerLayer(width, heads)
        pool = nn.HybridSequential()
        pool.add(nn.GlobalAvgPool2D(), nn.Flatten())
        relu, norm = nn.Activation("relu"), nn.BatchNorm()
        return {"relu": relu, "norm": norm, "pool": pool}[layer]

    def configure_optimizers(self):
        momentum = {} if self.optimizer == "adam" else {"momentum": 0.9}
        settings = {"learning_rate": self.lr, **momentum}
        return gluon.Trainer(self.parameters(), self.optimizer, settings)


class SoftmaxScratch(d2l.Classifier):
    def __init__(self, num_inputs, num_outputs, lr, sigma=0.01):
        super().__init__()
        self.save_hyperparameters()
        self.W = d2l.normal(0, sigma, (num_inputs, num_outputs))
        self.b = d2l.zeros(num_outputs)
        self.W.attach_grad()
        self.b.attach_grad()

    def collect_params(self):
        return [self.W, self.b]

    def forward(self, X):
        X = d2l.reshape(X, (-1, self.W.shape[0]))
        exps = d2l.exp(d2l.matmul(X, self.W) + self.b)
        return exps / d2l.reduce_sum(exps, 1, keepdims=True)

    def loss(self, y_hat, y):
        return -d2l.reduce_mean(d2l.log(y_hat[list(range(len(y_hat))), y]))


class MLPScratch(d2l.Classifier):
    def __init__(self, num_inputs, num_outputs, num_hiddens, lr, sigma=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.W1 = d2l.randn(num_inputs, num_hiddens) * sigma
        self.b1 = d2l.zeros(num_hiddens)
        self.W2 = d2l.randn(num_hiddens, num_outputs) * sigma
        self.b2 = d2l.zeros(num_outputs)
        for param in self.get_scratch_params():
            param.attach_grad()

    def forward(self, X):
        H = np.maximum(d2l.matmul(X, self.W1) + self.b1, 0)
        return d2l.matmul(H, self.W2) + self.b2


class ListedArrays(d2l.Classifier):
    """Its parameters are in a list, and nowhere else."""

    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        sizes = [(64, 16), (16,), (16, 10), (10,)]
        self.arrays = [d2l.randn(*size) * 0.1 for size in sizes]
        for array in self.arrays:
            array.attach_grad()

    def forward(self, X):
        W1, b1, W2, b2 = self.arrays
        return d2l.matmul(d2l.tanh(d2l.matmul(X, W1) + b1), W2) + b2

    def configure_optimizers(self):
        return d2l.SGD(self.arrays, self.lr)


class WithConstant(MLPScratch):
    """One of its arrays is no parameter."""

    def __init__(self, lr):
        super().__init__(64, 10, 32, lr)
        self.scale = d2l.ones(64) / 2

    def forward(self, X):
        return super().forward(X * self.scale)


class DropoutMLP(d2l.Classifier):
    def __init__(self, num_outputs, num_hiddens, dropout, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential()
        self.net.add(
            nn.Dense(num_hiddens, activation="relu"),
            nn.Dropout(dropout),
            nn.Dense(num_outputs),
        )
        self.net.initialize()


class DropoutScratch(d2l.Classifier):
    def __init__(self, dropout, lr):
        super().__init__()
        self.save_hyperparameters()
        self.first, self.last = nn.Dense(64, activation="relu"), nn.Dense(10)
        self.initialize()

    def forward(self, X):
        H = self.first(X)
        if autograd.is_training():
            keep = np.random.uniform(0, 1, H.shape, ctx=H.ctx) > self.dropout
            H = keep.astype(np.float32) * H / (1 - self.dropout)
        return self.last(H)


class BatchNormNet(d2l.Classifier):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential()
        self.net.add(
            nn.Conv2D(8, kernel_size=3, padding=1),
            nn.BatchNorm(),
            nn.Activation("sigmoid"),
            nn.Dense(10),
        )
        self.net.initialize(init.Xavier())


class RNNScratch(d2l.Module):
    def __init__(self, num_inputs, num_hiddens, sigma=0.3):
        super().__init__()
        self.save_hyperparameters()
        self.W_xh = d2l.randn(num_inputs, num_hiddens) * sigma
        self.W_hh = d2l.randn(num_hiddens, num_hiddens) * sigma
        self.b_h = d2l.zeros(num_hiddens)

    def forward(self, inputs, state=None):
        if state is None:
            shape = (inputs.shape[1], self.num_hiddens)
            state = d2l.zeros(shape, ctx=inputs.ctx)
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
        self.W_hq = d2l.randn(self.rnn.num_hiddens, self.vocab_size) * 0.3
        self.b_q = d2l.zeros(self.vocab_size)
        for param in self.get_scratch_params():
            param.attach_grad()

    def training_step(self, batch):
        loss = self.loss(self(*batch[:-1]), batch[-1])
        self.plot("ppl", d2l.exp(loss), train=True)
        return loss

    def validation_step(self, batch):
        loss = self.loss(self(*batch[:-1]), batch[-1])
        self.plot("ppl", d2l.exp(loss), train=False)

    def forward(self, X, step, state=None):
        inputs = npx.one_hot(d2l.transpose(X), self.vocab_size)
        steps = d2l.expand_dims(d2l.repeat(step, X.shape[1], 1).T, 2)
        inputs = d2l.concat((inputs, d2l.astype(steps, np.float32)), 2)
        outputs, _ = self.rnn(inputs, state)
        return d2l.stack([d2l.matmul(H, self.W_hq) + self.b_q for H in outputs], 1)


class Stacked(d2l.Module):
    """Models from scratch in a list."""

    def __init__(self, num_inputs, num_hiddens, num_layers):
        super().__init__()
        self.save_hyperparameters()
        sizes = [num_inputs] + [num_hiddens] * (num_layers - 1)
        self.rnns = [RNNScratch(size, num_hiddens) for size in sizes]

    def forward(self, inputs, state=None):
        for rnn in self.rnns:
            outputs, state = rnn(inputs)
            inputs = d2l.stack(outputs, 0)
        return outputs, state


class StackedLanguageModel(LanguageModel):
    """It attaches the gradients of the inner models itself."""

    def init_params(self):
        super().init_params()
        for rnn in self.rnn.rnns:
            for param in (rnn.W_xh, rnn.W_hh, rnn.b_h):
                param.attach_grad()


class GRULanguageModel(LanguageModel):
    def __init__(self, lr):
        super().__init__(layers.GRU(32), 10, lr)

    def init_params(self):
        self.linear = nn.Dense(self.vocab_size, flatten=False)
        self.initialize()

    def forward(self, X, step):
        inputs = npx.one_hot(X.T, 10)
        steps = d2l.expand_dims(d2l.repeat(step, X.shape[1], 1).T, 2)
        inputs = d2l.concat((inputs, steps.astype(np.float32)), 2)
        return d2l.swapaxes(self.linear(self.rnn(inputs)), 0, 1)

    def configure_optimizers(self):
        return gluon.Trainer(self.parameters(), "adam", {"learning_rate": self.lr})


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
        self.wd = wd

    def configure_optimizers(self):
        self.collect_params(".*bias").setattr("wd_mult", 0)
        settings = {"learning_rate": self.lr, "wd": self.wd, "momentum": 0.5}
        return gluon.Trainer(self.collect_params(), "sgd", settings)


class Residual(d2l.nn_Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Dense(width)

    def forward(self, X):
        return X + d2l.sigmoid(self.linear(X))


class Blocks(d2l.Classifier):
    """Blocks inside blocks, and a loss and an accuracy of its own."""

    def __init__(self, lr=0.02):
        super().__init__()
        self.save_hyperparameters()
        inner = nn.Sequential()
        inner.add(Residual(64), Residual(64))
        self.net = nn.Sequential()
        self.net.add(inner, nn.Dense(10))
        self.net.initialize(init.Xavier())

    def loss(self, Y_hat, Y, averaged=True):
        return super().loss(Y_hat, Y, averaged) * 2

    def validation_step(self, batch):
        Y_hat = self(*batch[:-1])
        right = d2l.astype(d2l.argmax(Y_hat, 1), batch[-1].dtype) == batch[-1]
        self.plot("acc", d2l.reduce_mean(d2l.astype(right, d2l.float32)), train=False)


class ConvBlock(d2l.nn_Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels, **kwargs):
        super().__init__(**kwargs)
        self.first = nn.Conv2D(channels, kernel_size=3, padding=1)
        self.second = nn.Conv2D(channels, kernel_size=3, padding=1)
        self.shortcut = nn.Conv2D(channels, kernel_size=1)
        self.norm = nn.BatchNorm()

    def forward(self, X):
        Y = self.second(npx.relu(self.norm(self.first(X))))
        return npx.relu(Y + self.shortcut(X))


class ConvNet(d2l.Classifier):
    """Its methods make its parts."""

    def stem(self):
        net = nn.Sequential()
        net.add(nn.Conv2D(8, kernel_size=3), nn.Activation("relu"))
        return net

    def __init__(self, arch, lr=0.1, num_classes=10):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential()
        self.net.add(self.stem())
        for channels in arch:
            self.net.add(ConvBlock(channels))
        self.net.add(nn.AvgPool2D(3, 3), nn.Dense(num_classes))
        self.net.initialize(init.Xavier())


class ClippedSGD(d2l.HyperParameters):
    """An optimizer with the one method that the trainer needs."""

    def __init__(self, params, rate):
        self.save_hyperparameters()

    def step(self, batch_size):
        for array in self.params:
            array[:] -= self.rate * np.clip(array.grad, -1, 1) / batch_size


class OwnOptimizer(d2l.LinearRegressionScratch):
    def configure_optimizers(self):
        return ClippedSGD([self.b, self.w], self.lr)


class Momentum(d2l.HyperParameters):
    """An optimizer that keeps an array for each parameter."""

    def __init__(self, params):
        self.params, self.steps = params, 0
        self.velocity = [0 * param for param in params]

    def step(self, _):
        self.steps += 1
        for param, v in zip(self.params, self.velocity, strict=True):
            v[:] = 0.9 * v + param.grad
            param -= 0.1 * v


class ScratchMomentum(SoftmaxScratch):
    def configure_optimizers(self):
        return Momentum(self.get_scratch_params())


class OwnLoop(d2l.Trainer):
    """A trainer whose loop over the minibatches is written by hand."""

    def fit_epoch(self):
        for batch in map(self.prepare_batch, self.train_dataloader):
            with autograd.record():
                result = self.model.training_step(batch)
            result.backward()
            if self.gradient_clip_val:
                self.clip_gradients(self.gradient_clip_val, self.model)
            self.optim.step(1)
            self.train_batch_idx += 1
        for batch in map(self.prepare_batch, self.val_dataloader):
            self.model.validation_step(batch)
            self.val_batch_idx += 1


class Reverse(autograd.Function):
    """Return the input; its gradient changes the sign."""

    def forward(self, x):
        return x.copy()

    def backward(self, grad):
        return -grad


class Gan(d2l.Module):
    """Two networks: between them, the gradient changes its sign."""

    def __init__(self):
        super().__init__()
        self.generator, self.critic = nn.Dense(8, in_units=4), nn.Dense(1, in_units=8)
        self.generator.initialize()
        self.critic.initialize()
        self.bce = gluon.loss.SigmoidBinaryCrossEntropyLoss()
        self.board.display = False

    def training_step(self, batch):
        real, noise, ones = batch
        fake = self.critic(Reverse()(self.generator(noise)))
        loss = self.bce(self.critic(real), ones) + self.bce(fake, np.zeros_like(ones))
        loss = loss.mean()
        self.plot("loss", loss, train=True)
        return loss

    def validation_step(self, batch):
        self.plot("fake", self.critic(self.generator(batch[1])).mean(), train=False)

    def configure_optimizers(self):
        adam, sgd = {"learning_rate": 0.01}, {"learning_rate": 0.1, "momentum": 0.9}
        return [
            gluon.Trainer(self.generator.collect_params(), "adam", adam),
            gluon.Trainer(self.critic.collect_params(), "sgd", sgd),
        ]


def regression():
    return d2l.SyntheticRegressionData(d2l.tensor([2, -3.4]), b=4.2)


def softmax():
    return SoftmaxScratch(64, 10, lr=0.5)


def mlp():
    return MLPScratch(64, 10, 32, lr=0.3)


def rnn():
    return LanguageModel(RNNScratch(11, 32), 10, lr=2)


def stacked():
    return StackedLanguageModel(Stacked(11, 24, 2), 10, lr=1)


# Several devices train these as one device does.
ON_DEVICES = "softmax", "mlp", "list", "blocks", "own optimizer"
OWN_OPTIMIZERS = [lambda: ScratchMomentum(64, 10, 0.5)]
CASES = [
    Case("softmax", softmax, d2l.Digits, "val_acc", 0.8),
    Case("mlp", mlp, d2l.Digits, "val_acc", 0.8),
    Case("list", lambda: ListedArrays(0.5), d2l.Digits, "val_acc", 0.8),
    Case("constant", lambda: WithConstant(0.5), d2l.Digits, "val_acc", 0.8),
    Case("dropout", lambda: DropoutMLP(10, 64, 0.3, 0.5), d2l.Digits, "val_acc", 0.8),
    Case("mask", lambda: DropoutScratch(0.3, 0.5), d2l.Digits, "val_acc", 0.8),
    Case("batch norm", lambda: BatchNormNet(0.2), Shuffled, "train_loss", 1),
    Case("conv net", lambda: ConvNet((8, 8), 0.2), Shuffled, "train_loss", 1),
    Case("own optimizer", lambda: OwnOptimizer(2, 0.1), regression, "val_loss", 0.1),
    Case("rnn", rnn, Counting, "val_ppl", 2, 6),
    Case("stacked", stacked, Counting, "val_ppl", 4, 4),
    Case("gru", lambda: GRULanguageModel(0.02), Counting, "val_ppl", 1.5, 6),
    Case("decay", lambda: WeightDecay(3, 0.01), regression, "val_loss", 15),
    Case("penalty", lambda: WeightDecayScratch(2, 3, 0.1), regression, "val_loss", 12),
    Case("blocks", Blocks, d2l.Digits, "val_acc", 0.6, 5),
]
