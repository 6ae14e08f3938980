"""The design stage: from a document to a checked environment with its hint."""
