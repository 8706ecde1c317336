"""Actor and critic: one network says what to do with the pole (gymnasium's CartPole) and how good things look."""

import argparse

import gymnasium

import wisp
from wisp import nn
from wisp.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, width), nn.ReLU())
        self.actor, self.critic = nn.Linear(width, 2), nn.Linear(width, 1)

    def forward(self, state):
        seen = self.body(state)
        return Categorical(logits=self.actor(seen)), self.critic(seen).squeeze(-1)


def play(environment, model, seed=None):
    """One episode: chances of what was done, what the critic expected, and the rewards."""
    state, _ = environment.reset(seed=seed)
    chances, expected, rewards, over = [], [], [], False
    while not over:
        choice, value = model(wisp.tensor(state, dtype=wisp.float32))
        action = choice.sample()
        state, reward, ended, cut, _ = environment.step(action.item())
        chances.append(choice.log_prob(action))
        expected.append(value)
        rewards.append(reward)
        over = ended or cut
    return wisp.stack(chances), wisp.stack(expected), rewards


def main(args=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--discount", type=float, default=0.99)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(args)

    wisp.manual_seed(options.seed)
    environment = gymnasium.make("CartPole-v1")
    model = ActorCritic()
    optimizer = wisp.optim.Adam(model.parameters(), lr=1e-2)
    average = 10.0
    for episode in range(options.episodes):
        chances, expected, rewards = play(environment, model, seed=options.seed if episode == 0 else None)
        earned, total = [], 0.0
        for reward in reversed(rewards):
            total = reward + options.discount * total
            earned.append(total)
        earned = wisp.tensor(earned[::-1])
        earned = (earned - earned.mean()) / (earned.std(correction=0) + 1e-6)
        surprise = (earned - expected).detach()
        loss = -(chances * surprise).sum() + nn.functional.smooth_l1_loss(expected, earned, reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average = 0.95 * average + 0.05 * sum(rewards)
        if episode % 20 == 0 or episode == options.episodes - 1:
            print(f"episode {episode:4d}   {len(rewards):3d} steps   average {average:6.1f}")
        if average > 475:
            print("solved")
            break
    environment.close()
    return average


if __name__ == "__main__":
    main()
