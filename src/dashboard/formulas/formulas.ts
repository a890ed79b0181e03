import { collectFormulas } from './collect.ts' with { type: 'macro' }
import type { Formula } from './collect.ts'

/** Formulas of all figures. */
export const FORMULAS: readonly Formula[] = collectFormulas()
