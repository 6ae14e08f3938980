"""The score stage: from episodes to rewards, advantages and training rows."""
