package catalogue

// Sources of figures, as they are named beside them.
const (
	vendor    = "data sheet of the vendor"
	wattgpu   = "maufadel/wattgpu, data/gpu_features.csv (facts of TechPowerUp)"
	captures  = "utkuozdemir/nvidia_gpu_exporter, captures of nvidia-smi"
	llmTraces = "eve123xy/power-traces-browser, power of GPUs that serve language models"
	zeus      = "ml-energy/zeus, trace of NSDI 2023"
	meters    = "JimZeyuYang/GPU_Power_Benchmark, readings beside an external meter"
	roofline  = "rooflinenotes.dev"
	hmcTech   = "hmc-tech.com"
	raps      = "ExaDigiT/RAPS, config/frontier.yaml"
)

// figures of one basis and source, by name.
func figures(basis Basis, source string, list ...Figure) []Figure {
	for i := range list {
		list[i].Basis, list[i].Source = basis, source
	}
	return list
}

// of is a figure of one value.
func of(name string, value float64) Figure {
	return Figure{Name: name, Unit: units[name], Value: value, Low: value, High: value}
}

// between is a figure of a range, with its middle as the value.
func between(name string, low, high float64) Figure {
	return Figure{Name: name, Unit: units[name], Value: (low + high) / 2, Low: low, High: high}
}

// doubted adds what speaks against a figure.
func (f Figure) doubted(text string) Figure {
	f.Doubt = text
	return f
}

func gpu(name, title string, lists ...[]Figure) Part {
	p := Part{Name: name, Kind: GPU, Title: title}
	for _, l := range lists {
		p.Figures = append(p.Figures, l...)
	}
	return p
}

// peaks are what the cores reach by the data sheet; 0 stands for a type that has none.
func peaks(basis Basis, source string, fp64, fp32, fp16, fp8 float64) []Figure {
	var list []Figure
	for _, f := range []Figure{of(FP64, fp64), of(FP32, fp32), of(FP16, fp16), of(FP8, fp8)} {
		if f.Value > 0 {
			list = append(list, f)
		}
	}
	return figures(basis, source, list...)
}

// gpus are dated November 2026. Peaks are without sparsity.
var gpus = []Part{
	gpu("p100-pcie", "NVIDIA P100 PCIe 16 GB", figures(DataSheet, vendor, of(Memory, 16), of(Bandwidth, 732), of(PowerLimit, 250)), peaks(DataSheet, vendor, 4.7, 9.3, 18.7, 0)),
	gpu("p100-sxm", "NVIDIA P100 SXM 16 GB", figures(DataSheet, vendor, of(Memory, 16), of(Bandwidth, 732), of(PowerLimit, 300), of(Link, 160)), peaks(DataSheet, vendor, 5.3, 10.6, 21, 0)),
	gpu("v100-pcie", "NVIDIA V100 PCIe", figures(DataSheet, vendor, of(Bandwidth, 900), of(PowerLimit, 250)), peaks(DataSheet, vendor, 7, 14, 112, 0)),
	gpu("v100-sxm2", "NVIDIA V100 SXM2", figures(Published, wattgpu, between(Bandwidth, 898, 900), of(PowerLimit, 300)), peaks(Published, wattgpu, 7.8, 15.7, 125, 0), figures(DataSheet, vendor, of(Link, 300))),
	gpu("t4", "NVIDIA T4", figures(Published, wattgpu, of(Memory, 16), of(Bandwidth, 320).doubted("the data sheet says more than 300")), peaks(Published, wattgpu, 0.25, 8.1, 65, 0), figures(DataSheet, vendor, of(PowerLimit, 70))),
	gpu("l4", "NVIDIA L4", figures(Published, wattgpu, of(Memory, 24), of(Bandwidth, 300), of(PowerLimit, 72)), peaks(Published, wattgpu, 0.47, 30.3, 121, 242)),
	gpu("l40s", "NVIDIA L40S", figures(Published, wattgpu, of(Memory, 48), of(Bandwidth, 864), of(PowerLimit, 350)), peaks(Published, wattgpu, 1.4, 91.6, 362, 733),
		figures(Measured, captures, of(LeastLimit, 100), of(MostLimit, 350)), figures(Measured, llmTraces, between(HeldPower, 102, 110))),
	gpu("a30", "NVIDIA A30", figures(Published, wattgpu, of(Memory, 24), of(Bandwidth, 933), of(PowerLimit, 165)), peaks(Published, wattgpu, 5.2, 10.3, 165, 0), figures(Published, wattgpu, of(Link, 200))),
	gpu("a40", "NVIDIA A40", figures(DataSheet, vendor, of(Memory, 48), of(Bandwidth, 696), of(PowerLimit, 300), of(Link, 112)), peaks(DataSheet, vendor, 0.58, 37.4, 150, 0), figures(Measured, zeus, of(LeastLimit, 100), of(MostLimit, 300))),
	gpu("a100-pcie-40", "NVIDIA A100 PCIe 40 GB", figures(DataSheet, vendor, of(Memory, 40), of(Bandwidth, 1555), of(PowerLimit, 250), of(Link, 600).doubted("by a bridge between two")), peaks(DataSheet, vendor, 9.7, 19.5, 312, 0), figures(DataSheet, vendor, of(FP64Tensor, 19.5))),
	gpu("a100-pcie-80", "NVIDIA A100 PCIe 80 GB", figures(DataSheet, vendor, of(Memory, 80), of(Bandwidth, 1935), of(PowerLimit, 300), of(Link, 600).doubted("by a bridge between two")), peaks(DataSheet, vendor, 9.7, 19.5, 312, 0), figures(DataSheet, vendor, of(FP64Tensor, 19.5)),
		figures(Measured, meters, between(IdlePower, 52, 56).doubted("at 1,410 MHz: 52 to 54 by the meter, 56 by NVML; 40 or 80 GB is not said"))),
	gpu("a100-sxm-40", "NVIDIA A100 SXM 40 GB", figures(DataSheet, vendor, of(Memory, 40), of(Bandwidth, 1555), of(PowerLimit, 400), of(Link, 600)), peaks(DataSheet, vendor, 9.7, 19.5, 312, 0), figures(DataSheet, vendor, of(FP64Tensor, 19.5))),
	gpu("a100-sxm-80", "NVIDIA A100 SXM 80 GB", figures(DataSheet, vendor, of(Memory, 80), of(Bandwidth, 2039), of(PowerLimit, 400), of(Link, 600)), peaks(DataSheet, vendor, 9.7, 19.5, 312, 0), figures(DataSheet, vendor, of(FP64Tensor, 19.5)),
		figures(Measured, llmTraces, between(HeldPower, 89, 97).doubted("three runs"))),
	gpu("h100-pcie", "NVIDIA H100 PCIe 80 GB", figures(Published, wattgpu, of(Memory, 80), of(Bandwidth, 2040), of(PowerLimit, 350), of(Link, 600).doubted("by a bridge between two")), peaks(Published, wattgpu, 25.6, 51.2, 756, 1513)),
	gpu("h100-nvl", "NVIDIA H100 NVL 94 GB", figures(Published, wattgpu, of(Memory, 94), of(Bandwidth, 3940), of(PowerLimit, 400), of(Link, 600).doubted("by a bridge between two")), peaks(Published, wattgpu, 30.2, 60.3, 835, 1671)),
	gpu("h100-sxm", "NVIDIA H100 SXM5 80 GB", figures(DataSheet, vendor, of(Memory, 80), of(Bandwidth, 3350), of(PowerLimit, 700), of(Link, 900)), peaks(DataSheet, vendor, 34, 67, 989, 1979), figures(DataSheet, vendor, of(FP64Tensor, 67)),
		figures(Measured, captures, of(LeastLimit, 200), of(MostLimit, 700), of(IdlePower, 70)), figures(Measured, llmTraces, between(HeldPower, 108, 114))),
	gpu("h200-sxm", "NVIDIA H200 SXM 141 GB", figures(Published, roofline, of(Memory, 141), of(Bandwidth, 4800), of(PowerLimit, 700), of(Link, 900)), peaks(Published, roofline, 34, 67, 989, 1979), figures(Published, roofline, of(FP64Tensor, 67)),
		figures(Measured, captures, of(LeastLimit, 200), of(MostLimit, 700), of(IdlePower, 78)), figures(Measured, llmTraces, between(HeldPower, 110, 116))),
	gpu("h200-nvl", "NVIDIA H200 NVL 141 GB", figures(Published, wattgpu, of(Memory, 141), of(Bandwidth, 4890), of(Link, 900).doubted("by a bridge")), peaks(Published, wattgpu, 30.2, 60.3, 835, 1670),
		figures(DataSheet, vendor, of(PowerLimit, 600).doubted("TechPowerUp says 700"))),
	gpu("gh200-96", "NVIDIA GH200 96 GB", figures(DataSheet, vendor, of(Memory, 96), of(Bandwidth, 4000), between(PowerLimit, 450, 1000).doubted("of the module with its CPU, and set by the maker of the node"), of(Link, 900).doubted("900 more to the CPU")),
		peaks(DataSheet, vendor, 34, 67, 989, 1979), figures(DataSheet, vendor, of(FP64Tensor, 67))),
	gpu("gh200-144", "NVIDIA GH200 144 GB", figures(DataSheet, vendor, of(Memory, 144), of(Bandwidth, 4900), between(PowerLimit, 450, 1000).doubted("of the module with its CPU, and set by the maker of the node"), of(Link, 900).doubted("900 more to the CPU")),
		peaks(DataSheet, vendor, 34, 67, 989, 1979), figures(DataSheet, vendor, of(FP64Tensor, 67))),
	gpu("b200-sxm", "NVIDIA B200 SXM", figures(Published, roofline+" and "+hmcTech, of(Memory, 180).doubted("usable, of 192"), of(Bandwidth, 8000), of(PowerLimit, 1000)), peaks(Published, roofline+" and "+hmcTech, 37, 75, 2250, 4500),
		figures(DataSheet, vendor, of(Link, 1800))),
	gpu("mi250x", "AMD MI250X, two dies", figures(DataSheet, vendor, of(Memory, 128), of(Bandwidth, 3277), between(PowerLimit, 500, 560), of(Link, 800)), peaks(DataSheet, vendor, 47.9, 47.9, 383, 0), figures(DataSheet, vendor, of(FP64Tensor, 95.7)),
		figures(Published, raps, of(IdlePower, 88).doubted("of a model of Frontier, within 5 %"))),
	gpu("mi300a", "AMD MI300A, with 24 CPU cores", figures(Published, hmcTech, of(Memory, 128).doubted("shared with the CPU cores"), of(Bandwidth, 5300), between(PowerLimit, 550, 760)), peaks(Published, hmcTech, 61.3, 122.6, 981, 1961), figures(Published, hmcTech, of(FP64Tensor, 122.6))),
	gpu("mi300x", "AMD MI300X 192 GB", figures(Published, roofline+" and "+hmcTech, of(Memory, 192), of(Bandwidth, 5300), of(PowerLimit, 750), of(Link, 896)), peaks(Published, roofline+" and "+hmcTech, 81.7, 163.4, 1307, 2615),
		figures(Published, roofline+" and "+hmcTech, of(FP64Tensor, 163.4))),
}
