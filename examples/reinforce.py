"""REINFORCE: a policy that learns to balance a pole (gymnasium's CartPole) from whole episodes."""

import argparse

import gymnasium

import wisp
from wisp import nn
from wisp.distributions import Categorical


def play(environment, policy, seed=None):
    """One episode: the logarithms of the chances of what was done, and the rewards."""
    state, _ = environment.reset(seed=seed)
    chances, rewards, over = [], [], False
    while not over:
        choice = Categorical(logits=policy(wisp.tensor(state, dtype=wisp.float32)))
        action = choice.sample()
        state, reward, ended, cut, _ = environment.step(action.item())
        chances.append(choice.log_prob(action))
        rewards.append(reward)
        over = ended or cut
    return wisp.stack(chances), rewards


def returns(rewards, discount):
    """What was earned from each step on; later rewards count less."""
    found, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + discount * total
        found.append(total)
    return wisp.tensor(found[::-1])


def main(args=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--discount", type=float, default=0.99)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(args)

    wisp.manual_seed(options.seed)
    environment = gymnasium.make("CartPole-v1")
    policy = nn.Sequential(nn.Linear(4, 128), nn.Dropout(0.6), nn.ReLU(), nn.Linear(128, 2))
    optimizer = wisp.optim.Adam(policy.parameters(), lr=1e-2)
    average = 10.0
    for episode in range(options.episodes):
        chances, rewards = play(environment, policy, seed=options.seed if episode == 0 else None)
        earned = returns(rewards, options.discount)
        advantage = (earned - earned.mean()) / (earned.std(correction=0) + 1e-6)
        loss = -(chances * advantage).sum()
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
