// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

/// Takes one hundredth of every transfer.
contract FeeToken {
    string public constant name = 'Fee on transfer';
    string public constant symbol = 'FEE';
    uint8 public constant decimals = 18;
    mapping(address => uint256) public balanceOf;

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
    }

    function transfer(address to, uint256 value) external {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value - value / 100;
        balanceOf[address(1)] += value / 100;
    }
}

/// Balances grow for all holders at once, and with every block.
contract RebasingToken {
    string public constant name = 'Rebasing';
    string public constant symbol = 'GROW';
    uint8 public constant decimals = 18;
    mapping(address => uint256) public shares;

    function mint(address to, uint256 value) external {
        shares[to] += value;
    }

    function balanceOf(address account) external view returns (uint256) {
        return (shares[account] * (1_000_000 + block.number * 7)) / 1_000_000;
    }
}

/// Hands everything on to a token whose address is in its storage.
contract ProxyToken {
    bytes32 private constant SLOT = keccak256('proxy.implementation');

    constructor(address implementation) {
        bytes32 slot = SLOT;
        assembly {
            sstore(slot, implementation)
        }
    }

    fallback() external {
        bytes32 slot = SLOT;
        assembly {
            calldatacopy(0, 0, calldatasize())
            let ok := delegatecall(gas(), sload(slot), 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if iszero(ok) { revert(0, returndatasize()) }
            return(0, returndatasize())
        }
    }
}

/// A token that is odd about what accounts have; what the number means stands at each.
contract OddBalance {
    string public constant name = 'Odd';
    string public constant symbol = 'ODD';
    uint8 public constant decimals = 18;
    uint256 private immutable kind;
    uint256 private written;

    constructor(uint256 kind_) {
        kind = kind_;
    }

    function balanceOf(address) external returns (uint256) {
        if (kind == 0) while (gasleft() > 0) keccak256('burn');
        if (kind == 1) revert('No balance for you');
        if (kind == 2) {
            assembly {
                mstore(0, 5)
                return(0, 0x100000)
            }
        }
        if (kind == 3) {
            assembly {
                return(0, 31)
            }
        }
        if (kind == 4) {
            assembly {
                return(0, 0)
            }
        }
        if (kind == 5) written++;
        if (kind == 6) return gasleft() > 120_000 ? 1 : 0;
        if (kind == 7) return uint160(msg.sender);
        if (kind == 8) return type(uint256).max;
        // The word that is asked for, and ten kilobytes more.
        if (kind == 9) {
            assembly {
                mstore(0, 9)
                return(0, 10240)
            }
        }
        return 7;
    }
}
