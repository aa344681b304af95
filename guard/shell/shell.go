// Package shell takes a shell line apart into the simple commands that it would run.
package shell
