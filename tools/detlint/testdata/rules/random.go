// Package random draws from generators that others share.
package random

import (
	_ "crypto/rand"   // want random
	_ "hash/maphash"  // want random
	"math/rand"       // want random
	v2 "math/rand/v2" // want random
)

func wrong() int { return rand.Int() + v2.Int() }
