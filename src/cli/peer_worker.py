"""Runs another inference engine for `espalier bench --peers`, in a process of its own.

Arguments: ENGINE MODEL.onnx INPUTS.npz OUTPUTS.npz THREADS DTYPE. Loads the model, runs it once, writes its outputs, and
prints one JSON line {"version", "load_ms"}. Then each line "run" on stdin is answered by the milliseconds of one call on
stdout, until stdin ends. What the engine itself prints goes to stderr.
"""

import json
import os
import sys
import time

import numpy as np


def load_ort(model, inputs, threads, dtype):
    import onnxruntime as ort

    if dtype != "f32":
        raise SystemExit(f"ONNX Runtime has no switch to run a float model in {dtype}")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for entry in session.get_inputs():
        binding.bind_cpu_input(entry.name, inputs[entry.name])
    names = [entry.name for entry in session.get_outputs()]
    for name in names:
        binding.bind_output(name)
    session.run_with_iobinding(binding)
    outputs = dict(zip(names, binding.copy_outputs_to_cpu()))
    return ort.__version__, lambda: session.run_with_iobinding(binding), outputs


def load_openvino(model, inputs, threads, dtype):
    import openvino as ov

    core = ov.Core()
    network = core.read_model(model)
    network.reshape({entry.get_any_name(): list(inputs[entry.get_any_name()].shape) for entry in network.inputs})
    settings = {
        "INFERENCE_PRECISION_HINT": dtype,
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "ENABLE_CPU_PINNING": False,
    }
    compiled = core.compile_model(network, "CPU", settings)
    request = compiled.create_infer_request()
    for entry in compiled.inputs:
        name = entry.get_any_name()
        request.set_tensor(entry, ov.Tensor(np.ascontiguousarray(inputs[name])))
    request.infer()
    outputs = {entry.get_any_name(): request.get_tensor(entry).data.copy() for entry in compiled.outputs}
    return ov.__version__, request.infer, outputs


def load_deepsparse(model, inputs, threads, dtype):
    import deepsparse

    if dtype != "f32":
        raise SystemExit(f"DeepSparse has no switch to run a float model in {dtype}")
    batch = next(iter(inputs.values())).shape[0]
    engine = deepsparse.Engine(model, batch_size=batch, num_cores=threads)
    ordered = [np.ascontiguousarray(inputs[name]) for name in engine.input_names]
    outputs = dict(zip(engine.output_names, engine.run(ordered)))
    return deepsparse.__version__, lambda: engine.run(ordered), outputs


ENGINES = {"ort": load_ort, "openvino": load_openvino, "deepsparse": load_deepsparse}


def main():
    engine, model, inputs_path, outputs_path, threads, dtype = sys.argv[1:7]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with np.load(inputs_path) as archive:
        inputs = {name: archive[name] for name in archive.files}
    start = time.perf_counter()
    version, run, outputs = ENGINES[engine](model, inputs, int(threads), dtype)
    load_ms = (time.perf_counter() - start) * 1e3
    np.savez(outputs_path, **outputs)
    print(json.dumps({"version": version, "load_ms": load_ms}), file=answers, flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        run()
        print((time.perf_counter() - start) * 1e3, file=answers, flush=True)


main()
