package neon

// Estimate is the working set that lies before the first sharp rise of a series of sizes
// over longer and longer windows, so that a scan of everything does not count. Offset is
// the index of the shortest window that counts in any case; window is the number of
// samples over which growth is compared, before and after. A series without such a rise
// counts whole.
func Estimate(series []float64, offset, window int, factor float64) float64 {
	w := window - 1
	for t := offset; t < len(series)-w; t++ {
		before, after := max(0, series[t]-series[t-w]), max(0, series[t+w]-series[t])
		if after > float64(before*factor) {
			return series[t]
		}
	}
	return series[len(series)-1]
}

// Project is the largest value that the series would reach if any of its slopes went on
// for some more samples.
func Project(series []float64, samples float64) float64 {
	highest := series[0]
	for i := 1; i < len(series); i++ {
		from, to := series[i-1], max(series[i-1], series[i])
		highest = max(highest, to+float64((to-from)*samples))
	}
	return highest
}

const (
	pageBytes    = 8192
	growthFactor = 3.0 // of the growth of the working set beyond which it is a scan
	projection   = 0.5 // minutes that the working set is looked ahead
)

// workingSet is the number of bytes that the file cache is to hold; ok is false when
// there are too few windows.
func (c *Config) workingSet(series []float64) (bytes float64, ok bool) {
	offset := c.CacheWait - 1
	if len(series) < offset+c.CacheWindow {
		return 0, false
	}
	size := Estimate(series, offset, c.CacheWindow, growthFactor)
	end := offset
	for end < len(series) && series[end] <= size {
		end++
	}
	return float64(Project(series[:end], projection) * pageBytes), true
}
