/** Guides in order; first the ones that newcomers need. Apart from their texts, which load on demand. */
export const GUIDE_NAMES = [
  'chains',
  'history',
  'figures',
  'pools',
  'receipts',
  'triggers',
  'agents',
  'operating',
  'backup',
  'changes',
]
