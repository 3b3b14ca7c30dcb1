package meter

import (
	"encoding/binary"
	"fmt"

	"orrery/scheduler/model"
	"orrery/traces"
)

// The samples of an ElmorLabs PMD as GPU_Power_Benchmark keeps and reads them (JimZeyuYang/GPU_Power_Benchmark, convert_pmd_data): nine words
// of 16 bits, little endian, a timer and pairs of voltage and current of four connectors. In that rig the third is the riser of the slot, and
// the others are power cables, of which a card has those that it needs; one without a cable reads some tenths of a W. The upper 12 bits of a
// word are the value, and a negative one is none.
const (
	pmdRecord   = 18
	pmdTicks    = 2934.5 // of the timer in a ms
	pmdAmpere   = 0.0488
	pmdTransfer = 50 * model.Millisecond // by which the first sample is older than the clock says
)

// pmdVolts are V a step, by connector.
var pmdVolts = [...]float64{0.007568, 0.007568, 0.0075, 0.007568}

func pmdWord(b []byte, i int) float64 {
	v := int16(binary.LittleEndian.Uint16(b[2*i:])) //nolint:gosec // its sign is meant
	return float64(max(v, 0) >> 4)
}

func (r *reader) pmd(b []byte) error {
	if !r.o.Start.OK {
		return &traces.DataError{Found: "samples of a PMD, whose timer begins anew each 22 ms", Expected: "the instant of the first", Mend: "give --meter-start FILE, which holds µs since 1970"}
	}
	if rest := len(b) % pmdRecord; rest > 0 {
		r.Left.Add("last record, cut off", fmt.Sprintf("%d bytes", rest), 1)
	}
	n := len(b) / pmdRecord
	if n > MostSamples {
		return &traces.DataError{Found: fmt.Sprintf("%d samples", n), Expected: fmt.Sprintf("at most %d", MostSamples), Mend: "cut the file to the time of interest"}
	}
	r.Times, r.Watts = make([]model.Time, 0, n), make([]float64, 0, n)
	start := r.o.Start.V.Add(-pmdTransfer)
	ticks, before := int64(0), uint16(0)
	for i := range n {
		rec := b[i*pmdRecord:]
		timer := binary.LittleEndian.Uint16(rec)
		if i > 0 {
			ticks += int64(timer - before) // modulo 65,536
		}
		before = timer
		watts := 0.0
		for c, volts := range pmdVolts {
			watts += float64(pmdWord(rec, 1+2*c) * volts * pmdWord(rec, 2+2*c) * pmdAmpere)
		}
		at := start.Add(model.Duration(float64(ticks) / pmdTicks * 1000))
		if err := r.add(int64(i+1), at, watts); err != nil {
			return err
		}
	}
	return nil
}
