# Sampling, with more runs and other distances than in the quick test.
load ../helper

setup() {
	case_setup
	skip_unless_command python3
	export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 MEMTRACK_TIMEOUT=1000
}

unbiased() {
	call 0 python3 "$BATS_TEST_DIRNAME/../sample_bias.py" "$MEMTRACK" "$B/sampled" "$1" "$2" || fail "$(cat out)"
}

@test "400 runs of one sample per 4 KiB" {
	unbiased 400 4096
}

@test "200 runs of one sample per 100 bytes, per 16 KiB" {
	unbiased 200 100
	unbiased 200 16384
}
