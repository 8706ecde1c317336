"""A language model of LSTM layers, as in "Regularizing and Optimizing LSTM Language Models" without its tricks."""

from wisp import cat, nn, no_grad
from wisp.models._parts import with_weights

__all__ = ["LSTMLanguageModel", "lstm_language_model"]


class LSTMLanguageModel(nn.Module):
    """Predicts the next token from all before it.

    Args:
        ntoken: how many different tokens there are.
        ninp: the features of a token.
        nhid: the features of a layer.
        nlayers: how many layers there are.
        dropout: the chance of a feature to be left out in training.
        tie_weights: whether reading and predicting tokens share their weight; ``nhid`` and ``ninp`` are then the same.

    >>> model = wisp.models.LSTMLanguageModel(ntoken=10, ninp=8, nhid=8, nlayers=1)
    >>> scores, hidden = model(wisp.zeros(5, 2, dtype=wisp.int64))
    >>> scores.shape
    wisp.Size([5, 2, 10])
    """

    def __init__(self, ntoken, ninp=200, nhid=200, nlayers=2, dropout=0.5, tie_weights=False):
        super().__init__()
        self.ntoken, self.nhid, self.nlayers = ntoken, nhid, nlayers
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout if nlayers > 1 else 0.0)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            if nhid != ninp:
                raise ValueError("When using the tied flag, nhid must be equal to emsize")
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def init_hidden(self, bsz):
        """The state before the first token, for so many sequences."""
        zeros = self.decoder.weight.new_zeros(self.nlayers, bsz, self.nhid)
        return zeros, zeros.clone()

    def forward(self, input, hidden=None):
        """Scores of the next token at every place, and the state after the last.

        Args:
            input: tokens, (length, batch).
            hidden: the state before the first of them; by default that of a beginning.
        """
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        return self.decoder(self.drop(output)), hidden

    @no_grad()
    def generate(self, input, max_new_tokens, temperature=1.0):
        """Continues sequences of tokens.

        Args:
            input: the beginning, (length, batch).
            max_new_tokens: how many to add.
            temperature: below one for what is likely, above one for what is rare; zero for the most likely always.
        """
        tokens, scores, hidden = [input], *self(input)
        for _ in range(max_new_tokens):
            last = scores[-1]
            drawn = last.argmax(-1) if temperature == 0 else (last / temperature).softmax(-1).multinomial(1).squeeze(1)
            tokens.append(drawn.unsqueeze(0))
            scores, hidden = self(tokens[-1], hidden)
        return cat(tokens, 0)


def lstm_language_model(*, weights=None, progress=True, **kwargs):
    """A language model of two LSTM layers of 200 features unless told otherwise; ``kwargs`` are those of
    LSTMLanguageModel."""
    return with_weights(LSTMLanguageModel(**kwargs), weights)
