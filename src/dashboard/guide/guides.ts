import { collectGuides } from './collect.ts' with { type: 'macro' }

/** Guides for people, as they were when the module was compiled. */
export const GUIDES = collectGuides()
