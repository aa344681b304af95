//go:build !linux

package path

// Resolve always fails on this system, with ErrUnsupported: nothing here pins
// what a name leads to.
func Resolve(_ Dir, text string, _ Final) (*File, error) {
	return nil, &Error{text, ErrUnsupported}
}

// OpenDir always fails, as Resolve does.
func OpenDir(name string) (*File, error) { return nil, &Error{name, ErrUnsupported} }

// OpenParent always fails, as Resolve does.
func (f *File) OpenParent() (*File, error) { return nil, &Error{f.Path, ErrUnsupported} }

// CanList always fails, as Resolve does.
func (f *File) CanList() error { return &Error{f.Path, ErrUnsupported} }

// Names always fails, as Resolve does.
func (f *File) Names(int) ([]string, error) { return nil, &Error{f.Path, ErrUnsupported} }

// Close does nothing: no File is open on this system.
func (f *File) Close() {}

// Has is always false: no File is open on this system.
func (f *File) Has(string) bool { return false }

// Canonical is name: nothing is looked up on this system.
func Canonical(name string) string { return name }
