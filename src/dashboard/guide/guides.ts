import { collectGuides } from './collect.ts' with { type: 'macro' }

/** All guides, as of compilation. */
export const GUIDES = collectGuides()
