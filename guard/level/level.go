// Package level says how much a call can do: facets, capabilities, and the levels that bound them.
package level
