// The operations over sets of pages. Each thread writes one word, or adds to one count; all words are little-endian, as in the pages.

struct Params {
    // How many threads have work.
    threads: u32,
    // Of each kernel's own: see there.
    first: u32,
    second: u32,
    third: u32,
}

const WORKGROUP: u32 = 256u;

@group(0) @binding(0) var<storage, read> left: array<u32>;
@group(0) @binding(1) var<storage, read> right: array<u32>;
@group(0) @binding(2) var<storage, read_write> words: array<u32>;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;
@group(0) @binding(3) var<uniform> params: Params;

fn thread_of(id: vec3<u32>, groups: vec3<u32>) -> u32 {
    return id.y * (groups.x * WORKGROUP) + id.x;
}

@compute @workgroup_size(256)
fn xor_words(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let at = thread_of(id, groups);
    if at >= params.threads { return; }
    words[at] = left[at] ^ right[at];
}

// first: the words of a page; second: how many of them a thread looks at; third: how many threads a page has.
@compute @workgroup_size(256)
fn differing_bytes(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_of(id, groups);
    if thread >= params.threads { return; }
    let page = thread / params.third;
    let begin = (thread % params.third) * params.second;
    let end = min(begin + params.second, params.first);
    var count = 0u;
    for (var at = begin; at < end; at += 1u) {
        let place = page * params.first + at;
        let bits = left[place] ^ right[place];
        count += select(0u, 1u, (bits & 0xffu) != 0u) + select(0u, 1u, (bits & 0xff00u) != 0u)
            + select(0u, 1u, (bits & 0xff0000u) != 0u) + select(0u, 1u, (bits & 0xff000000u) != 0u);
    }
    if count != 0u { atomicAdd(&counts[page], count); }
}

// first: the words of a row; second: the words of a matrix.
@compute @workgroup_size(256)
fn boolean_product(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let at = thread_of(id, groups);
    if at >= params.threads { return; }
    let matrix = (at / params.second) * params.second;
    let row = ((at % params.second) / params.first) * params.first;
    let column = at % params.first;
    var sum = 0u;
    for (var word = 0u; word < params.first; word += 1u) {
        var bits = left[matrix + row + word];
        while bits != 0u {
            let place = word * 32u + firstTrailingBit(bits);
            sum |= right[matrix + place * params.first + column];
            bits &= bits - 1u;
        }
    }
    words[at] = sum;
}

// first: the order; second: the words of a matrix.
@compute @workgroup_size(256)
fn min_plus_product(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let at = thread_of(id, groups);
    if at >= params.threads { return; }
    let matrix = (at / params.second) * params.second;
    let row = ((at % params.second) / params.first) * params.first;
    let column = at % params.first;
    var least = 0xffffffffu;
    for (var step = 0u; step < params.first; step += 1u) {
        let before = left[matrix + row + step];
        let sum = before + right[matrix + step * params.first + column];
        // A sum that does not fit is no way.
        least = min(least, select(sum, 0xffffffffu, sum < before));
    }
    words[at] = least;
}

// first: how many floats a row has. `right` is the question.
@compute @workgroup_size(256)
fn distances(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let at = thread_of(id, groups);
    if at >= params.threads { return; }
    var sum = 0.0;
    for (var place = 0u; place < params.first; place += 1u) {
        let difference = bitcast<f32>(left[at * params.first + place]) - bitcast<f32>(right[place]);
        sum += difference * difference;
    }
    words[at] = bitcast<u32>(sum);
}
