// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

/// A hook that lets fees be collected, and no liquidity removed. Its address must have bit 9 alone.
contract ForbiddingHook {
    /// `beforeRemoveLiquidity(address sender, PoolKey key, ModifyLiquidityParams params, bytes hookData)`
    fallback() external {
        // Behind the selector: the sender, five words of the key, two ticks.
        int256 liquidityDelta = abi.decode(msg.data[4 + 8 * 32:4 + 9 * 32], (int256));
        require(liquidityDelta == 0, 'Removal is forbidden');
        _answerSelector();
    }

    function _answerSelector() private pure {
        bytes32 answer = bytes32(msg.sig);
        assembly {
            mstore(0, answer)
            return(0, 32)
        }
    }
}

/// A hook that does harm when liquidity is removed. Its address must have bit 9 alone.
contract HostileHook {
    enum Harm {
        BurnsGas,
        Loops,
        ReturnsMebibyte,
        RevertsMebibyte,
        DestroysItself
    }

    Harm private immutable _harm;

    constructor(Harm harm) {
        _harm = harm;
    }

    fallback() external {
        if (_harm == Harm.BurnsGas) {
            assembly {
                invalid()
            }
        }
        if (_harm == Harm.Loops) while (true) {}
        bytes32 answer = bytes32(msg.sig);
        if (_harm == Harm.DestroysItself) {
            // What it answers is nothing, which the manager refuses: so it destroys itself in a call of its own first.
            if (msg.sender == address(this)) selfdestruct(payable(address(0)));
            (bool isDone, ) = address(this).call('');
            require(isDone, 'Not destroyed');
            assembly {
                mstore(0, answer)
                return(0, 32)
            }
        }
        bool reverts = _harm == Harm.RevertsMebibyte;
        assembly {
            mstore(0, answer)
            if reverts {
                revert(0, 0x100000)
            }
            return(0, 0x100000)
        }
    }
}
