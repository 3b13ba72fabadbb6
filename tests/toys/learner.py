"""Q-learning in a table: the worth of every action in every state, learned by acting.

Q(s, a) += lr (r + γ max_a' Q(s', a') - Q(s, a)),       actions: the best one, with probability ε any
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ftheta.check import Count, Positive, Share
from ftheta.data.kinds import Environment
from ftheta.draw import Draw
from ftheta.models import Stepped
from ftheta.tasks import Task
from ftheta.train import Steps


@dataclass(frozen=True)
class Act(Task):
    """Actions that earn reward."""

    name: ClassVar[str] = "act"


class Episodes(Steps):
    """One episode per step."""

    kept = ("table", "episode")

    def __init__(self, make, states, actions, *, lr, discount, explore, seed, longest):
        self.env, self.lr, self.discount, self.explore = make(), lr, discount, explore
        self.table, self.episode, self.draw, self.longest = np.zeros((states, actions)), 0, Draw(seed), longest

    def advance(self):
        draw = np.random.default_rng(self.draw.at("episode", self.episode).key())
        state, _ = self.env.reset(seed=int(draw.integers(2**31)))
        total, steps, ended = 0.0, 0, False
        while not ended and steps < self.longest:
            row = self.table[state]
            best = draw.choice(np.flatnonzero(row == row.max()))
            action = int(draw.integers(len(row)) if draw.random() < self.explore else best)
            after, reward, ended, cut, _ = self.env.step(action)
            goal = reward + (0.0 if ended else self.discount * self.table[after].max())
            self.table[state, action] += self.lr * (goal - self.table[state, action])
            state, total, steps, ended = after, total + reward, steps + 1, ended or cut
        self.episode += 1
        return {"episode": self.episode, "reward": total, "steps": steps}


@dataclass(kw_only=True, eq=False, repr=False)
class ToyLearner(Stepped):
    """Learn to act in an environment with few states and actions; X is a function that makes it."""

    lr: Positive = 0.5
    discount: Share = 0.95
    explore: Share = 0.1
    longest: Count = 200

    def kind(self):
        return Environment()

    def task(self):
        return Act()

    def process(self, data, held):
        facts = data.x.spec.facts
        settings = {"lr": self.lr, "discount": self.discount, "explore": self.explore, "longest": self.longest}
        return Episodes(data.x.make, facts["states"], facts["actions"], **settings, seed=self.seed_)

    def finish(self, process):
        self.table_ = process.table

    def predict(self, states):
        """The best action in each state: (n,)."""
        return self.table_[np.asarray(states)].argmax(1)

    def score(self, X, y=None):
        """The reward of one episode without exploring."""
        env = self.checked(X).x.make()
        state, _ = env.reset(seed=0)
        total = 0.0
        for _ in range(self.longest):
            state, reward, ended, cut, _ = env.step(int(self.predict([state])[0]))
            total += reward
            if ended or cut:
                break
        return total
