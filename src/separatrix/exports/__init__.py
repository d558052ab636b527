"""Models out of Python: SQL, C, JavaScript, ONNX and plain Python that compute the same, proved."""
