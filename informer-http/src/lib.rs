//! Blocking Kubernetes API client.
