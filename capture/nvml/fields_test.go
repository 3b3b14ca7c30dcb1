//go:build linux && cgo && !nonvml

package nvml

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"
)

// A value takes as many bytes as its type has; the others may be anything.
func TestNumber(t *testing.T) {
	of := func(kind nvml.ValueType, bytes int, bits uint64) float64 {
		f := &nvml.FieldValue{ValueType: uint32(kind)}
		binary.NativeEndian.PutUint64(f.Value[:], math.MaxUint64)
		switch bytes {
		case 2:
			binary.NativeEndian.PutUint16(f.Value[:2], uint16(bits))
		case 4:
			binary.NativeEndian.PutUint32(f.Value[:4], uint32(bits))
		default:
			binary.NativeEndian.PutUint64(f.Value[:], bits)
		}
		return number(f)
	}
	minus := int64(-7)
	require.Equal(t, 7.0, of(nvml.VALUE_TYPE_UNSIGNED_SHORT, 2, 7))
	require.Equal(t, 7.0, of(nvml.VALUE_TYPE_UNSIGNED_INT, 4, 7))
	require.Equal(t, -7.0, of(nvml.VALUE_TYPE_SIGNED_INT, 4, uint64(minus)))
	require.Equal(t, 7.0, of(nvml.VALUE_TYPE_UNSIGNED_LONG, 8, 7))
	require.Equal(t, 7.0, of(nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, 8, 7))
	require.Equal(t, -7.0, of(nvml.VALUE_TYPE_SIGNED_LONG_LONG, 8, uint64(minus)))
	require.Equal(t, 7.5, of(nvml.VALUE_TYPE_DOUBLE, 8, math.Float64bits(7.5)))
}
