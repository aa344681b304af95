package main

import (
	"errors"
	osexec "os/exec"
	"strconv"
)

func exitCode(err error) string {
	if ee, ok := errors.AsType[*osexec.ExitError](err); ok {
		return strconv.Itoa(ee.ExitCode())
	}
	return err.Error()
}
