// Memory variables of an absorbing layer (layer.h) that the derivatives of the field have, before a step of the forward run: what replay.h
// takes as the field's past.
// arrays     past[slot][e][a COMPONENTS + c][node], slot = step % slots; layer as layer.h has it
// params     slots of past, blocks of elements (`groups` of LANES on the CPU, elements on a GPU) in each
#include "layer.h"

KERNEL save_layer(real* RESTRICT past, const real* RESTRICT layer, const int* RESTRICT step, const Box box, const SaveParams p)
{
    const Layer<COMPONENTS> from{(real*)layer, nullptr};
    [[maybe_unused]] const int* const order = nullptr;
    FOR_EACH_ELEMENT(box, order)
    {
        value* const to = (value*)past + ((ptrdiff_t)(step[0] % p.slots) * (p.count / (int)(sizeof(value) / sizeof(real))) + e) * LAYERED * COMPONENTS * NODES;
        EACH_COLUMN for (int k = 0; k < N; ++k)
            for (int a = 0; a < LAYERED; ++a)
                for (int c = 0; c < COMPONENTS; ++c)
        {
            const int node = k * COLUMNS + column;
            to[(a * COMPONENTS + c) * NODES + node] = VALUES(layer)[from.template place<0>(e, a, c, node)];
        }
    }
}
