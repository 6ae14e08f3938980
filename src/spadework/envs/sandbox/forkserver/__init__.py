"""The sandbox that plays use: zygotes that fork one self-confined child an instance (docs/sandbox.md).

``inside`` is what runs in the children; everything else runs in the host.
"""
