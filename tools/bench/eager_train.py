#!/usr/bin/env python3
"""Training speed of PyTorch eager on the model that `grapevine bench train` measures.

Reads one JSON object a line on standard input: a Hugging Face config.json with the keys `batch`,
`threads` and `steps` beside it. Answers each with {"tokens_per_s": …, "loss": …}. The model is
written as people write it: modules, scaled_dot_product_attention, RMSNorm, fused AdamW.
"""
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, inner = c["hidden_size"], c["intermediate_size"]
        self.heads, self.kv_heads = c["num_attention_heads"], c["num_key_value_heads"]
        self.head = width // self.heads
        self.input_layernorm = nn.RMSNorm(width, eps=c["rms_norm_eps"])
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, self.kv_heads * self.head, bias=False)
        self.v_proj = nn.Linear(width, self.kv_heads * self.head, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)
        self.post_attention_layernorm = nn.RMSNorm(width, eps=c["rms_norm_eps"])
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x, cos, sin):
        b, t, d = x.shape
        h = self.input_layernorm(x)
        q = self.q_proj(h).view(b, t, self.heads, self.head).transpose(1, 2)
        k = self.k_proj(h).view(b, t, self.kv_heads, self.head).transpose(1, 2)
        v = self.v_proj(h).view(b, t, self.kv_heads, self.head).transpose(1, 2)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o_proj(a.transpose(1, 2).reshape(b, t, d))
        h = self.post_attention_layernorm(x)
        return x + self.down_proj(F.silu(self.gate_proj(h)) * self.up_proj(h))


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed = nn.Embedding(c["vocab_size"], c["hidden_size"])
        nn.init.normal_(self.embed.weight, std=0.02)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["num_hidden_layers"]))
        self.norm = nn.RMSNorm(c["hidden_size"], eps=c["rms_norm_eps"])
        self.head = nn.Linear(c["hidden_size"], c["vocab_size"], bias=False)
        if c["tie_word_embeddings"]:
            self.head.weight = self.embed.weight
        head = c["hidden_size"] // c["num_attention_heads"]
        inverse = c["rope_theta"] ** (-torch.arange(0, head, 2).float() / head)
        angles = torch.outer(torch.arange(c["max_position_embeddings"]).float(), inverse)
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.head(self.norm(x))


def measure(job):
    torch.set_num_threads(job["threads"])
    torch.manual_seed(0)
    model = Model(job)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), fused=True)
    batch, context = job["batch"], job["max_position_embeddings"]
    # The text of the measurement: what it says is of no matter, that it repeats is.
    rows = torch.arange(batch * (context + 1)).view(batch, context + 1) * 7919 % job["vocab_size"]

    def step():
        optimizer.zero_grad(set_to_none=True)
        logits = model(rows[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), rows[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    for _ in range(3):
        step()
    begin = time.perf_counter()
    for _ in range(job["steps"]):
        loss = step()
    seconds = time.perf_counter() - begin
    return {"tokens_per_s": job["steps"] * batch * context / seconds, "loss": loss}


for line in sys.stdin:
    print(json.dumps(measure(json.loads(line))), flush=True)
