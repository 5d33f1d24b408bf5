"""The paper's experiments: each module lists its pieces and runs one of them."""
