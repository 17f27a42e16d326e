//! Logs, exec, attach and port-forward, as the API server's kubelet door offers them and over WebSocket.
