// Package gate is the four-layer access gate for agents: capability, role, permission, exec policy.
package gate
