```python
import random


class FlipEnv:
    def reset(self, seed=None):
        self.n = random.Random(seed).randint(100, 999)
        return f"What is {self.n} times three?", {}

    def step(self, action):
        return "Done.", float(action == "\\boxed{%d}" % (3 * self.n)), True, False, {}

    def solution(self):
        return str(3 * self.n)
```
