/**
 * Lets the programs that tests start, and their own processes, keep the memory that they have freed. Asking the kernel
 * for the same pages again costs virtual machines up to a third of all work. Bun's allocator is the first, Anvil's the
 * second.
 */
export const KEPT_MEMORY: Readonly<Record<string, string>> = {
  MIMALLOC_PURGE_DELAY: '-1',
  _RJEM_MALLOC_CONF: 'dirty_decay_ms:-1,muzzy_decay_ms:-1',
}
