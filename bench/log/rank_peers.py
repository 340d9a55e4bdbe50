"""The peers of bench_rankings.py: recommenders in numpy and scipy whose settings are chosen on training events.

A peer has grid(fit): models for its settings, and build(train, setting): the model of one setting. A model has
variants(history, users), which yields (setting, scores) with a row of scores for each of these users by their events in
`history`; a model of build() yields one.
"""
import numpy as np
import scipy.linalg
import scipy.sparse as sparse


class Events:
    """Events of users and items as numbers, sorted by user, then time; age is the number of later events of the user"""

    def __init__(self, user, item, users, items):
        self.user, self.item, self.users, self.items = user, item, users, items
        self.begin = np.searchsorted(user, np.arange(users + 1))
        self.age = self.begin[user + 1] - 1 - np.arange(len(user))

    def split(self):
        """All but the last fifth of each user's events, and these: one event at least, and one stays"""
        tests = last_fifth(np.diff(self.begin))
        last = self.age < tests[self.user]
        return self.part(~last), self.part(last)

    def part(self, chosen):
        return Events(self.user[chosen], self.item[chosen], self.users, self.items)

    def counts(self):
        return np.bincount(self.item, minlength=self.items).astype(float)

    def matrix(self, weights=None):
        """Users by items, the sum of the events' weights; without weights 1 for each item of the user"""
        ones = np.ones(len(self.user), np.float32) if weights is None else weights.astype(np.float32)
        x = sparse.csr_matrix((ones, (self.user, self.item)), shape=(self.users, self.items))
        x.sum_duplicates()
        if weights is None:
            x.data[:] = 1
        return x


def last_fifth(counts):
    """How many of a user's events are the test; furrow rows split --last 0.2 rounds in the same way"""
    return np.where(counts > 1, np.maximum(1, np.floor(counts * 0.2 + 0.5)), 0).astype(int)


# ---- Judging ----


def best_items(scores, k):
    """The k items with the highest scores in each row, ties by number; -1 where a score is -inf"""
    k = min(k, scores.shape[1])
    some = np.argpartition(-scores, k - 1, axis=1)[:, :k] if k < scores.shape[1] else \
        np.tile(np.arange(k), (len(scores), 1))
    found = np.take_along_axis(scores, some, 1)
    order = np.lexsort((some, -found), axis=1)
    some, found = np.take_along_axis(some, order, 1), np.take_along_axis(found, order, 1)
    return np.where(found == -np.inf, -1, some)


def ndcg_of(found, relevant, k):
    """NDCG of a list of items; every relevant item has the gain 1"""
    gains = 1 / np.log2(np.arange(2, k + 2))
    hits = sum(gains[place] for place, item in enumerate(found[:k]) if item in relevant)
    return hits / gains[:min(k, len(relevant))].sum()


def relevant_items(history, test, repeats):
    """The items of each user's test events, without the items of the history unless the log repeats; {} for no test"""
    relevant = [set(test.item[test.begin[u]:test.begin[u + 1]]) for u in range(test.users)]
    if not repeats:
        for u in range(test.users):
            relevant[u] -= set(history.item[history.begin[u]:history.begin[u + 1]])
    return relevant


def lists_of(model, history, users, k, repeats):
    """Yields (setting, the lists of these users) in blocks of users; a block has all settings"""
    own = history.matrix()
    for at in range(0, len(users), 500):
        block = users[at:at + 500]
        mine = own[block].tocoo()
        for setting, scores in model.variants(history, block):
            if not repeats:
                scores = scores.copy()
                scores[mine.row, mine.col] = -np.inf
            yield setting, block, best_items(scores, k)


def choose(peer, train, k, repeats, most_users=1500):
    """The setting with the best NDCG of the last fifth of the training events (of some of the users)"""
    fit, valid = train.split()
    relevant = relevant_items(fit, valid, repeats)
    users = np.array([u for u in range(train.users) if relevant[u]])
    if len(users) > most_users:
        users = np.sort(np.random.default_rng(0).choice(users, most_users, replace=False))
    sums = {}
    for model in peer.grid(fit):
        for setting, block, lists in lists_of(model, fit, users, k, repeats):
            sums[setting] = sums.get(setting, 0) + sum(ndcg_of(row, relevant[u], k) for u, row in zip(block, lists))
    return max(sums, key=sums.get)


# ---- Simple peers ----


class Popular:
    name = "popular"

    def __init__(self, train=None):
        self.counts = None if train is None else train.counts()

    def grid(self, fit):
        yield Popular(fit)

    def build(self, train, setting):
        return Popular(train)

    def variants(self, history, users):
        yield "", np.tile(self.counts, (len(users), 1))


class OwnHistory:
    """The items that the user took most often, the last one first among equals"""
    name = "own history"

    def grid(self, fit):
        yield self

    def build(self, train, setting):
        return self

    def variants(self, history, users):
        yield "", history.matrix(1 + 1e-3 / (1 + history.age))[users].toarray()


class Content:
    """Cosine of what the table says about the items and about the user's items, and a part of the popularity"""
    name = "content"

    def __init__(self, features, train=None, shares=()):
        self.features, self.shares = features, shares
        self.popular = None if train is None else np.log1p(train.counts())

    def grid(self, fit):
        yield Content(self.features, fit, (0, 0.01, 0.03, 0.1, 0.3))

    def build(self, train, setting):
        return Content(self.features, train, (setting,))

    def variants(self, history, users):
        profile = history.matrix()[users] @ self.features[:history.items]
        norms = np.sqrt(profile.multiply(profile).sum(axis=1))
        scores = np.asarray((profile @ self.features.T).todense()) / np.maximum(norms, 1e-9)
        popular = np.zeros(scores.shape[1])
        popular[:len(self.popular)] = self.popular
        for share in self.shares:
            yield share, np.asarray(scores + share * popular)


# ---- Item-item ----


class ItemItem:
    """The scores are the user's events, weighted by recency, times the weights of items for items"""

    def __init__(self, label, weights, recencies):
        self.label, self.weights, self.recencies = label, weights, recencies

    def variants(self, history, users):
        """recencies: (tau, the added constants), or (0, ()) for events of equal weight"""
        equal = history.matrix()[users] @ self.weights
        for tau, constants in self.recencies:
            if not tau:
                yield (*self.label, 0, 0), equal
                continue
            recent = history.matrix(np.exp(-history.age / tau))[users] @ self.weights
            for constant in constants:
                yield (*self.label, tau, constant), recent + constant * equal


def one_recency(tau, constant):
    return [(tau, (constant,))]


class Cosine:
    """Items taken together, divided by the norms and a shrinkage; the k nearest of each item"""
    name = "cosine"

    def weights(self, train, shrink, neighbours):
        x = train.matrix()
        together = (x.T @ x).toarray()
        norms = np.sqrt(together.diagonal())
        similar = together / (norms[:, None] * norms[None, :] + shrink + 1e-9)
        if neighbours < train.items:
            least = -np.partition(-similar, neighbours, axis=0)[neighbours]
            similar[similar <= least] = 0
        return similar

    def grid(self, fit):
        for shrink in (0, 10, 50):
            for neighbours in (20, 100, 500):
                yield ItemItem((shrink, neighbours), self.weights(fit, shrink, neighbours), [(0, ())])

    def build(self, train, setting):
        return ItemItem(setting[:2], self.weights(train, *setting[:2]), [(0, ())])


def ease_weights(train, ridge):
    """B_ij = -P_ij / P_jj with P = (X'X + ridge)^-1, and 0 on the diagonal (Steck, Embarrassingly Shallow Autoencoders for
    Sparse Data, 2019). Where users are fewer than items, P = (1 - X' (XX' + ridge)^-1 X) / ridge."""
    x = train.matrix().astype(np.float64)
    if train.users < train.items:
        gram = (x @ x.T).toarray()
        gram[np.diag_indices_from(gram)] += ridge
        p = -(x.T @ scipy.linalg.cho_solve(scipy.linalg.cho_factor(gram, overwrite_a=True), x.toarray()))
        p[np.diag_indices_from(p)] += 1
    else:
        gram = (x.T @ x).toarray()
        gram[np.diag_indices_from(gram)] += ridge
        p = scipy.linalg.cho_solve(scipy.linalg.cho_factor(gram, overwrite_a=True), np.eye(train.items))
    b = (-p / p.diagonal()).astype(np.float32)
    b[np.diag_indices_from(b)] = 0
    return b


class Ease:
    name = "EASE"
    ridges = (10, 30, 100, 300, 1000)
    recencies = [(0, ())]

    def grid(self, fit):
        for ridge in self.ridges:
            yield ItemItem((ridge,), ease_weights(fit, ridge), self.recencies)

    def build(self, train, setting):
        ridge, tau, constant = setting
        return ItemItem((ridge,), ease_weights(train, ridge), one_recency(tau, constant))


class RecentEase(Ease):
    """The user's events have the weights exp(-age / tau) + constant; the matrix is that of EASE"""
    name = "recent EASE"
    recencies = [(0, ())] + [(tau, (0, 0.03, 0.1, 0.3)) for tau in (1, 2, 5, 10, 20, 50)]


# ---- Factors ----


class Factors:
    """Scores of users that the model was trained with: p q' and a bias of the item"""

    def __init__(self, setting, p, q, bias=0):
        self.setting, self.p, self.q, self.bias = setting, p, q, bias

    def variants(self, history, users):
        yield self.setting, self.p[users] @ self.q.T + self.bias


class Als:
    """iALS with the weights of Rendle et al., Revisiting the Performance of iALS on Item Recommendation Benchmarks, 2022:
    sum over events (1 - pq)^2 + alpha sum over all pairs (pq)^2 + ridge sum of norms times (events + alpha others)"""
    name = "iALS"
    rounds = 12

    def solve(self, x, other, alpha, ridge):
        """The vectors of the rows of x, given the vectors of its columns"""
        factors = other.shape[1]
        out = np.zeros((x.shape[0], factors), np.float32)
        gram = alpha * (other.T @ other)
        counts = np.diff(x.indptr)
        order = np.argsort(counts, kind="stable")
        order = order[counts[order] > 0]
        at = 0
        while at < len(order):
            rows = order[at:at + max(1, min(512, 60000 // counts[order[min(at + 255, len(order) - 1)]]))]
            longest = counts[rows].max()
            places = np.minimum(x.indptr[rows][:, None] + np.arange(longest), len(x.indices) - 1)
            inside = np.arange(longest) < counts[rows][:, None]
            v = other[x.indices[places]] * inside[:, :, None]
            weight = np.where(inside, x.data[places], 0).astype(np.float32)
            a = gram + (v * weight[:, :, None]).transpose(0, 2, 1) @ v
            a[:, np.arange(factors), np.arange(factors)] += (ridge * (counts[rows] + alpha * len(other)))[:, None]
            out[rows] = np.linalg.solve(a, (v * weight[:, :, None]).sum(axis=1)[:, :, None])[:, :, 0]
            at += len(rows)
        out[np.abs(out) < 1e-12] = 0  # a ridge that is too large ends in denormal numbers, which take very long
        return out

    def fit(self, train, setting):
        factors, alpha, ridge = setting
        rng = np.random.default_rng(1)
        x = train.matrix(np.ones(len(train.user)))
        x.data = (1 + np.log(x.data)).astype(np.float32)  # repeated events weigh more
        columns = x.T.tocsr()
        q = (rng.normal(size=(train.items, factors)) * 0.1 / factors ** 0.5).astype(np.float32)
        for _ in range(self.rounds):
            p = self.solve(x, q, alpha, ridge)
            q = self.solve(columns, p, alpha, ridge)
        return Factors(setting, self.solve(x, q, alpha, ridge), q)

    def grid(self, fit):
        for factors in (16, 64):
            for alpha in (0.03, 0.1, 0.3, 1):
                for ridge in (0.003, 0.01, 0.03):
                    yield self.fit(fit, (factors, alpha, ridge))

    def build(self, train, setting):
        return self.fit(train, setting)


class Bpr:
    """Rendle et al., BPR: Bayesian Personalized Ranking from Implicit Feedback, 2009: ln(1 + exp(z_j - z_i)) for an item j
    that the user does not have, Adagrad, batches of 2048 events"""
    name = "BPR"
    factors, batch, step, rate = 64, 2048, 5, 0.05

    def fit(self, train, l2, epochs):
        """Yields the model after every `step` epochs"""
        rng = np.random.default_rng(1)
        p, q = (rng.normal(size=(n, self.factors)).astype(np.float32) * 0.05 for n in (train.users, train.items))
        q = np.concatenate([q, np.zeros((train.items, 1), np.float32)], axis=1)  # the last column is the bias
        squares = [np.full((len(m), 1), 1e-2, np.float32) for m in (p, q)]
        own = np.sort(train.user * train.items + train.item)
        for epoch in range(1, epochs + 1):
            order = rng.permutation(len(train.user))
            for at in range(0, len(order), self.batch):
                events = order[at:at + self.batch]
                u, i = train.user[events], train.item[events]
                j = rng.integers(0, train.items, len(u))
                key = u * train.items + j
                fine = own[np.minimum(np.searchsorted(own, key), len(own) - 1)] != key
                u, i, j = u[fine], i[fine], j[fine]
                pu = np.concatenate([p[u], np.ones((len(u), 1), np.float32)], axis=1)
                slope = 1 / (1 + np.exp(np.einsum("nf,nf->n", pu, q[i] - q[j])))[:, None]
                self.update(p, squares[0], u, slope * (q[i] - q[j])[:, :-1] - l2 * p[u])
                self.update(q, squares[1], np.concatenate([i, j]),
                            np.concatenate([slope * pu - l2 * q[i], -slope * pu - l2 * q[j]]))
            if epoch % self.step == 0:
                yield Factors((l2, epoch), p, q[:, :-1], q[:, -1])

    def update(self, values, squares, rows, gradients):
        """One Adagrad step for each row that occurs, with the sum of its gradients"""
        found, place = np.unique(rows, return_inverse=True)
        sums = sparse.csr_matrix((np.ones(len(rows), np.float32), (place, np.arange(len(rows))))) @ gradients
        squares[found] += (sums ** 2).mean(axis=1, keepdims=True)
        values[found] += self.rate * sums / np.sqrt(squares[found])

    def grid(self, fit):
        for l2 in (0.005, 0.02, 0.05):
            yield from self.fit(fit, l2, 60)

    def build(self, train, setting):
        for model in self.fit(train, *setting):
            pass
        return model
