#!/usr/bin/env python3
"""Trains the networks of the Fashion-MNIST example.

    train.py dense -o dense.onnx                          trains the dense network from scratch
    train.py finetune --masked pruned.onnx -o sparse.onnx trains accuracy back under fixed masks
    train.py evaluate dense.onnx sparse.onnx              top-1 on the 10,000 test images

An ONNX file is all the state there is: its initialisers carry the names of the network's parameters, batch
normalisation stays a node of its own, and a mask is the set of weights that are not zero. Whatever writes zeros into
those initialisers, `espalier prune` above all, has pruned the network.

Nothing is chosen by looking at test accuracy: a run has a fixed length and its last epoch is its result. The file is
written after every epoch, so that an interrupted run leaves a usable network.

Needs PyTorch, ONNX and NumPy (Debian: python3-torch, python3-onnx, python3-numpy, dataset-fashion-mnist).
"""

import argparse
import gzip
import io
import time
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import torch
from torch import nn
from torch.nn import functional as F

CLASSES = 10
PIXEL_MEAN, PIXEL_STD = 0.2860, 0.3530  # of the training images, after division by 255


# The network


class ResidualBlock(nn.Module):
    """relu(shortcut(x) + bn(conv(relu(bn(conv(x)))))), the shortcut being 1x1 where the shape changes."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut_bn = nn.BatchNorm2d(outputs)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + (self.shortcut_bn(self.shortcut(x)) if self.shortcut else x))


class Network(nn.Module):
    """image [batch, 1, 28, 28] -> logits [batch, 10]; 0.66 million parameters, 52 million MACs an image."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 32, 3, padding=1, bias=False)
        self.stem_bn = nn.BatchNorm2d(32)
        self.stage1 = nn.Sequential(ResidualBlock(32, 64, 2), ResidualBlock(64, 64, 1))
        self.stage2 = nn.Sequential(ResidualBlock(64, 128, 2), ResidualBlock(128, 128, 1))
        self.classifier = nn.Linear(128, CLASSES)

    def forward(self, image):
        x = F.relu(self.stem_bn(self.stem(image)))
        x = self.stage2(self.stage1(x))
        return self.classifier(F.adaptive_avg_pool2d(x, 1).flatten(1))


# ONNX files


def state_of(network):
    """The tensors that inference reads, by name."""
    return {name: value for name, value in network.state_dict().items() if not name.endswith("num_batches_tracked")}


def save_network(network, path):
    """Writes the network as it infers, batch normalisation unfolded, initialisers named as in `state_dict`.

    The exporter lets equal tensors share one initialiser behind Identity nodes; here every tensor gets its own.
    """
    was_training = network.training
    network.eval()
    buffer = io.BytesIO()
    torch.onnx.export(network, torch.zeros(1, 1, 28, 28), buffer, opset_version=13,
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
                      input_names=["image"], output_names=["logits"],
                      dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}})
    network.train(was_training)
    model = onnx.load_model_from_string(buffer.getvalue())
    nodes = [node for node in model.graph.node if node.op_type != "Identity"]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(value.contiguous().numpy(), name)
                                   for name, value in state_of(network).items())
    onnx.checker.check_model(model)
    temporary = Path(path).with_suffix(".tmp")
    temporary.write_bytes(model.SerializeToString())
    temporary.replace(path)


def load_network(path):
    """Reads a file that `save_network` wrote, or one whose initialisers were changed since."""
    found = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in onnx.load(path).graph.initializer}
    network = Network()
    wanted = state_of(network)
    for name, value in wanted.items():
        if name not in found or found[name].shape != value.shape:
            shape = tuple(found[name].shape) if name in found else "nothing"
            raise SystemExit(f"{path}: initialiser {name}: expected shape {tuple(value.shape)}, found {shape}; "
                             "give a file that `train.py dense` wrote, pruned or not")
    network.load_state_dict({name: found[name] for name in wanted}, strict=False)
    return network


# Images


def read_idx(path):
    """An array from a gzipped idx file of bytes."""
    data = gzip.decompress(Path(path).read_bytes())
    dimensions = np.frombuffer(data, ">u4", count=data[3], offset=4)
    return torch.from_numpy(np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(dimensions).copy())


def load_images(folder, part):
    """Normalised images [count, 1, 28, 28] and their labels [count]; `part` is "train" or "t10k"."""
    images = read_idx(Path(folder) / f"{part}-images-idx3-ubyte.gz")
    labels = read_idx(Path(folder) / f"{part}-labels-idx1-ubyte.gz")
    return ((images.float() / 255 - PIXEL_MEAN) / PIXEL_STD).unsqueeze(1), labels.long()


def augment(images, erase):
    """Mirrors half of the images, shifts each by up to two pixels, blanks a square in a fraction `erase` of them."""
    count, size = images.shape[0], images.shape[-1]
    columns = torch.arange(size).repeat(count, 1)
    columns = torch.where(torch.rand(count, 1) < 0.5, columns.flip(1), columns) + torch.randint(0, 5, (count, 1))
    rows = torch.arange(size) + torch.randint(0, 5, (count, 1))
    background = -PIXEL_MEAN / PIXEL_STD
    padded = F.pad(images[:, 0], (2, 2, 2, 2), value=background)
    moved = padded[torch.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]

    def inside(start, length):
        return (torch.arange(size) >= start) & (torch.arange(size) < start + length)

    side = torch.randint(4, 13, (count, 1)) * (torch.rand(count, 1) < erase)
    top, left = torch.randint(0, size - 4, (2, count, 1))
    blank = inside(top, side)[:, :, None] & inside(left, side)[:, None, :]
    return moved.masked_fill(blank, background).unsqueeze(1)


# Training


def accuracy(network, images, labels):
    """Top-1 in percent."""
    network.eval()
    with torch.inference_mode():
        right = sum((network(x).argmax(1) == y).sum().item() for x, y in zip(images.split(500), labels.split(500)))
    return 100 * right / len(labels)


def masks_of(network):
    """For each weight tensor of a convolution or product that has zeros: 1 where it may be non-zero, 0 elsewhere."""
    weights = {name: p for name, p in network.named_parameters() if p.dim() > 1}
    return {name: (p != 0).float() for name, p in weights.items() if (p == 0).any()}


def check_masks(network, masks):
    """Stops the run if a masked weight is not zero any more."""
    parameters = dict(network.named_parameters())
    for name, mask in masks.items():
        broken = int((parameters[name][mask == 0] != 0).sum())
        if broken:
            raise SystemExit(f"{name}: {broken} masked weights are not zero")


def train(network, output, options):
    """SGD with Nesterov momentum under one learning rate cycle; masked weights stay exactly zero throughout."""
    images, labels = load_images(options.data, "train")
    test = load_images(options.data, "t10k")
    masks = masks_of(network)
    parameters = dict(network.named_parameters())
    for name, mask in masks.items():
        print(f"mask {name}: density {mask.mean().item():.4f}")
    optimizer = torch.optim.SGD(
        [{"params": [p for p in parameters.values() if p.dim() > 1], "weight_decay": options.weight_decay},
         {"params": [p for p in parameters.values() if p.dim() <= 1], "weight_decay": 0}],
        lr=options.rate, momentum=0.9, nesterov=True)
    batches = len(images) // options.batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.rate, epochs=options.epochs,
                                                   steps_per_epoch=batches, pct_start=options.warmup,
                                                   cycle_momentum=False, div_factor=10, final_div_factor=1000)
    began = time.time()
    for epoch in range(1, options.epochs + 1):
        network.train()
        total = 0.0
        for index in torch.randperm(len(images))[:batches * options.batch].split(options.batch):
            batch = augment(images[index], options.erase).contiguous(memory_format=torch.channels_last)
            loss = F.cross_entropy(network(batch), labels[index], label_smoothing=options.smoothing)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            with torch.no_grad():
                for name, mask in masks.items():
                    parameters[name].mul_(mask)
            total += loss.item()
        check_masks(network, masks)
        save_network(network, output)
        top1 = accuracy(network, *test)
        print(f"epoch {epoch}/{options.epochs}: loss {total / batches:.4f}, test top-1 {top1:.2f} %, "
              f"{len(masks)} masks hold, {time.time() - began:.0f} s", flush=True)


# The command line


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--data", default="/usr/share/datasets/fashion-mnist", help="folder of the four idx files")
    shared.add_argument("--threads", type=int, default=torch.get_num_threads())

    def training_command(name, help, epochs, rate, warmup, erase):
        command = commands.add_parser(name, parents=[shared], help=help,
                                      formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        command.add_argument("-o", "--output", required=True, help="ONNX file to write")
        command.add_argument("--epochs", type=int, default=epochs)
        command.add_argument("--rate", type=float, default=rate, help="highest learning rate of the cycle")
        command.add_argument("--warmup", type=float, default=warmup, help="fraction of the run in which the rate rises")
        command.add_argument("--erase", type=float, default=erase, help="fraction of images with a square blanked")
        command.add_argument("--batch", type=int, default=128)
        command.add_argument("--weight-decay", type=float, default=5e-4)
        command.add_argument("--smoothing", type=float, default=0.05, help="label smoothing")
        command.add_argument("--seed", type=int, default=1)
        return command

    training_command("dense", "train from scratch", epochs=10, rate=0.2, warmup=0.2, erase=0.25)
    finetune = training_command("finetune", "train a pruned network under its masks", epochs=1, rate=0.03, warmup=0.1,
                                erase=0.25)
    finetune.add_argument("--masked", required=True, help="pruned ONNX file; its zeros are the masks")
    commands.add_parser("evaluate", parents=[shared], help="measure test accuracy").add_argument("files", nargs="+")
    return parser.parse_args()


def main():
    options = parse_arguments()
    torch.set_num_threads(options.threads)
    if options.command == "evaluate":
        test = load_images(options.data, "t10k")
        for path in options.files:
            print(f"{path}: top-1 {accuracy(load_network(path), *test):.2f} % of {len(test[1])} images")
        return
    print(" ".join(f"{key}={value}" for key, value in sorted(vars(options).items())), flush=True)
    torch.manual_seed(options.seed)
    network = load_network(options.masked) if options.command == "finetune" else Network()
    train(network.to(memory_format=torch.channels_last), options.output, options)


if __name__ == "__main__":
    main()
