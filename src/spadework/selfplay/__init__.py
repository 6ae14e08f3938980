"""The method. Stages do not know each other; only ``loop`` imports them."""
