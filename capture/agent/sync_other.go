//go:build !linux

package agent

// synced is not known here.
func synced() string { return "unknown" }
