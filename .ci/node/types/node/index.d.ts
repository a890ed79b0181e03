/**
 * Types of Node 20, in place of those of the newest Node that dependencies bring along. 20.17 is the version nearest to
 * the 20.15 of README whose types fit: earlier ones miss an option that Node has.
 */
/// <reference types="node20-types" />
