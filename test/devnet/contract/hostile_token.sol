// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import { BareToken } from './token.sol';

/// Name and symbol as 32 bytes, the way tokens of 2017 have them.
contract Bytes32Token is BareToken {
    bytes32 public constant name = 'Maker';
    bytes32 public constant symbol = 'MKR';
    uint256 public constant decimals = 18;
}

/// Decimals that fit no uint8.
contract WideDecimalsToken is BareToken {
    string public constant name = 'Wide decimals';
    string public constant symbol = 'WIDE';
    uint256 public constant decimals = 1 << 200;
}

/// A well-formed symbol and name of one mebibyte.
contract HugeSymbolToken is BareToken {
    uint8 public constant decimals = 18;

    function symbol() public pure returns (string memory) {
        assembly {
            let size := 0x100000
            mstore(0, 32)
            mstore(32, size)
            mstore(64, 'HUGEHUGEHUGEHUGEHUGEHUGEHUGEHUGE')
            for { let filled := 32 } lt(filled, size) { filled := shl(1, filled) } {
                mcopy(add(64, filled), 64, filled)
            }
            return(0, add(64, size))
        }
    }

    function name() external pure returns (string memory) {
        return symbol();
    }
}

/// A symbol whose length is a lie.
contract LyingSymbolToken is BareToken {
    uint8 public constant decimals = 18;

    function symbol() public pure returns (string memory) {
        assembly {
            mstore(0, 32)
            mstore(32, not(0))
            mstore(64, 'LIE')
            return(0, 96)
        }
    }

    function name() external pure returns (string memory) {
        return symbol();
    }
}

/// Every question about this token burns all the gas that it is given.
contract GasBurnerToken is BareToken {
    function symbol() public view returns (string memory) {
        uint256 x;
        while (gasleft() > 0) x = uint256(keccak256(abi.encode(x)));
        return '';
    }

    function name() external view returns (string memory) {
        return symbol();
    }

    function decimals() external view returns (uint8) {
        symbol();
        return 18;
    }
}

/// Every question about this token reverts, with a reason.
contract RevertingToken is BareToken {
    function symbol() external pure returns (string memory) {
        revert('No symbol for you');
    }

    function name() external pure returns (string memory) {
        revert('No name for you');
    }

    function decimals() external pure returns (uint8) {
        revert('No decimals for you');
    }
}
