import fc from 'fast-check'
import { isSoak } from './amount.ts'

// The same cases every day, so that a run fails for what was changed; a soak looks for new ones.
fc.configureGlobal(isSoak ? {} : { seed: 20260728 })
