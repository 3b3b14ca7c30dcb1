// Package quiet talks to itself.
package quiet

import (
	"fmt"
	"io"
	"log/slog" // want quiet
)

func wrong() {
	fmt.Println("done") // want quiet
	println("done")     // want quiet
	slog.Info("done")
}

func right(w io.Writer) error {
	_, err := fmt.Fprintln(w, "done")
	return err
}
