package guard

import (
	"strings"

	"github.com/wrapexec/wrap/argv"
	"github.com/wrapexec/wrap/guard/path"
)

// spell shows a name as the caller wrote it, with what says more of it: the
// flag that took it, and where it leads if that is somewhere else.
func spell(text, flag, resolved string) string {
	more := flag
	if resolved != "" && resolved != text {
		if more != "" {
			more += ": "
		}
		more += argv.Quote(resolved)
	}
	if more == "" {
		return argv.Quote(text)
	}
	return argv.Quote(text) + " (" + more + ")"
}

// verb is what the tool does to a file, for "sort writes x" and "to let sort
// write x".
func verb(face argv.Face, effect argv.Effect) (does, do string) {
	switch {
	case face == 0:
		return "may change", "use"
	case face&argv.Rebind != 0 && effect&argv.Remove != 0 && effect&argv.HardLink != 0:
		return "moves", "move"
	case face&argv.Rebind != 0 && effect&argv.Remove != 0:
		return "removes", "remove"
	case face&argv.Write != 0:
		return "writes", "write"
	case effect&argv.HardLink != 0:
		return "links", "link"
	case face&argv.Rebind != 0:
		return "replaces", "replace"
	case face&argv.Exec != 0:
		return "runs", "run"
	}
	return "reads", "read"
}

// mutates is whether a use changes anything. A second name for a file is a way
// to write it.
func mutates(face argv.Face, effect argv.Effect) bool {
	return face.Mutates() || effect&argv.HardLink != 0
}

// closed says whether a place with this role may not be used with this face
// wherever it lies, and whatever is granted: the code, the reason, and what to
// say of the place. "" where it may.
func closed(role path.Role, face argv.Face, effect argv.Effect) (code Code, reason, what string) {
	changes := mutates(face, effect)
	switch role {
	case path.RawDevice:
		return CodeRawDevice, "RawDevice", "is no ordinary file"
	case path.CredentialStore:
		return CodeCredential, "Credential", "holds credentials"
	case path.Own:
		if changes {
			return CodeSystemIntegrity, "FrozenSystemIntegrity", "is wrap's own"
		}
	case path.SystemIntegrity:
		if changes {
			return CodeSystemIntegrity, "FrozenSystemIntegrity", "belongs to the system"
		}
	case path.TrustRoot:
		if changes {
			return CodeTrustRoot, "FrozenTrustRoot", "holds what other programs obey or execute"
		}
	case path.TrustFile, path.WorktreeTrusted:
		if changes {
			return CodeTrustFile, "FrozenTrustFile", "is what other programs obey or execute"
		}
	case path.Landmark:
		if face == 0 || face&argv.Rebind != 0 {
			return CodeTrustRoot, "FrozenTrustRoot", "must stay what it is"
		}
	case path.StandardStream:
		if face == 0 || face&argv.Rebind != 0 || face&argv.Write != 0 && effect&replacing != 0 && effect&argv.Overwrite == 0 {
			return CodeRawDevice, "RawDevice", "is a device that others use"
		}
	case path.Unknown, path.Scratch, path.PackageContent, path.Worktree:
	default:
		return CodeUnconfined, "Unconfined", "is something unknown"
	}
	return "", "", ""
}

// noGrant ends what is said of a place that is closed.
const noGrant = "; no grant opens that"

// join names the list for people: "a, b and c".
func join(list []string) string {
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	}
	return strings.Join(list, "")
}
