"""What runs other runs: study jobs, held-out plays, and the subjects of an evaluation."""
