package guard

import "strings"

// harmless are the git configuration variables that may be set by a flag: they
// shape what is printed or compared. Many others name programs, and which do is
// not a list that ends (core.pager, alias.*, diff.*.textconv, filter.*,
// include.path, …), so what is not here is taken for a program.
// An entry that ends in "." stands for the section, but not for its subsections:
// "color.diff" and not "color.x.y". In lower case, sorted.
var harmless = [...]string{
	"advice.", "color.", "column.", "core.abbrev", "core.autocrlf", "core.bare", "core.commentchar", "core.eol", "core.filemode", "core.ignorecase",
	"core.logallrefupdates", "core.precomposeunicode", "core.quotepath", "core.safecrlf", "core.whitespace", "diff.algorithm", "diff.autorefreshindex",
	"diff.colormoved", "diff.colormovedws", "diff.context", "diff.dirstat", "diff.ignoresubmodules", "diff.indentheuristic", "diff.interhunkcontext",
	"diff.mnemonicprefix", "diff.noprefix", "diff.relative", "diff.renamelimit", "diff.renames", "diff.statgraphwidth", "diff.submodule",
	"diff.suppressblankempty", "diff.wordregex", "format.pretty", "grep.column", "grep.extendedregexp", "grep.fullname", "grep.linenumber",
	"grep.patterntype", "i18n.", "log.abbrevcommit", "log.date", "log.decorate", "log.diffmerges", "log.follow", "log.graphcolors",
	"log.initialdecorationset", "log.mailmap", "log.showroot", "merge.conflictstyle", "merge.renamelimit", "merge.renames", "pull.ff", "pull.rebase", "status.",
	"user.email", "user.name",
}

// harmlessConfig is whether the value of git -c, "name=value" or "name", sets
// a variable that runs nothing.
func harmlessConfig(text string) bool {
	name, _, _ := strings.Cut(text, "=")
	name = strings.ToLower(name)
	section, key, ok := strings.Cut(name, ".")
	if !ok || key == "" || strings.Contains(key, ".") {
		return false
	}
	for _, h := range harmless {
		if h == name || h == section+"." {
			return true
		}
	}
	return false
}
